"""What each pass of the shrinker proposes, seen as orders of actors."""

from __future__ import annotations

from racecheck.explore import passes
from racecheck.explore.fewest import fewest_runs
from racecheck.explore.passes import Best, Turn
from racecheck.model import Decision, Fault, FaultKind, Kind

CRASH = Fault(FaultKind.CRASH)
EIO = Fault(FaultKind.ERRNO, errno="EIO")
STALL = Fault(FaultKind.STALL, length=60)


def best(
    order: str,
    *,
    faults: dict[int, Fault] | None = None,
    broken_at: int | None = None,
    repeated: set[int] | None = None,
    cuts: dict[str, list[int]] | None = None,
    roles: dict[str, str] | None = None,
) -> Best:
    lanes = tuple(sorted(set(order)))
    kinds = {CRASH: Kind.CRASH, STALL: Kind.STALL}
    found = [(faults or {}).get(index) for index in range(len(order))]
    return Best(
        turns=tuple(
            Turn(
                Decision(actor, fault),
                kinds.get(fault, Kind.WRITE) if fault else Kind.WRITE,
            )
            for actor, fault in zip(order, found, strict=True)
        ),
        lanes=lanes,
        roles=roles or dict.fromkeys(lanes, "actor"),
        broken_at=broken_at,
        repeated=frozenset(repeated or ()),
        cuts=cuts or {lane: list(range(1, order.count(lane))) for lane in lanes},
    )


def shown(candidate: passes.Turns) -> str:
    """Return the actors, those that meet a fault as capitals."""
    return "".join(
        turn.lane.upper() if turn.decision.fault else turn.lane for turn in candidate
    )


def test_the_tail_goes_to_whoever_broke_it_and_then_to_each_other() -> None:
    (candidate,) = passes.cut_tail(best("abcabcabc", broken_at=3))

    assert shown(candidate) == "abcaabbcc"


def test_what_the_end_broke_has_no_tail() -> None:
    assert not [*passes.cut_tail(best("abcabc"))]


def test_faults_are_dropped_all_at_once_and_one_by_one() -> None:
    candidates = passes.drop_faults(best("aabb", faults={0: EIO, 2: EIO}))

    assert list(dict.fromkeys(map(shown, candidates))) == ["aabb", "aaBb", "Aabb"]


def test_without_its_crash_an_actor_goes_on_at_once_or_when_all_is_over() -> None:
    candidates = passes.drop_faults(best("aabb", faults={1: CRASH}))

    assert list(dict.fromkeys(map(shown, candidates))) == ["aabb", "abba"]


def test_without_a_stall_its_step_is_gone() -> None:
    candidates = passes.drop_faults(best("aabb", faults={1: STALL}))

    assert set(map(shown, candidates)) == {"abb"}


def test_what_goes_well_has_no_faults_to_drop() -> None:
    assert not [*passes.drop_faults(best("aabb"))]


def test_each_actor_is_put_last_and_first() -> None:
    assert list(map(shown, passes.set_aside(best("abab")))) == [
        "bbaa",
        "aabb",
        "aabb",
        "bbaa",
    ]


def test_runs_of_an_actor_are_joined_either_way_round() -> None:
    assert list(map(shown, passes.join_runs(best("abcab")))) == [
        "aabcb",
        "bcaab",
        "abbca",
        "acabb",
    ]


def test_repeated_steps_are_left_out_all_at_once_and_one_by_one() -> None:
    candidates = passes.drop_repeated(best("aaabb", repeated={1, 2}))

    assert list(map(shown, candidates)) == ["abb", "aabb", "aabb"]


def test_a_run_that_is_not_the_last_of_its_actor_is_cut_short() -> None:
    candidates = list(map(shown, passes.stop_earlier(best("aaaabbbba"))))

    assert candidates == ["aabbbba", "aaabbbba"]


def test_actors_of_one_role_are_named_as_they_appear() -> None:
    assert shown(next(passes.rename_actors(best("cabab")))) == "abcbc"


def test_actors_of_other_roles_keep_their_names() -> None:
    roles = {"a": "writer", "b": "reader", "c": "writer"}

    assert shown(next(passes.rename_actors(best("cbaca", roles=roles)))) == "abcac"


def test_tasks_are_renamed_with_their_actor() -> None:
    turns = tuple(Turn(Decision(lane), Kind.WRITE) for lane in ["b", "b:1", "a"])
    tasks = best("ab")._replace(turns=turns, lanes=("a", "b", "b:1"))

    renamed = next(passes.rename_actors(tasks))

    assert [turn.lane for turn in renamed] == ["a", "a:1", "b"]


def test_neighbouring_runs_change_places() -> None:
    assert list(map(shown, passes.swap_runs(best("aabc")))) == ["baac", "aacb"]


def test_an_actor_is_stopped_later_by_half_the_way_or_where_it_matters_next() -> None:
    cuts = {"a": [2, 4, 6, 8], "b": []}

    candidates = map(shown, passes.stop_later(best("abaaaaaaaaa", cuts=cuts)))

    assert list(candidates) == ["aaaaaabaaaa", "aabaaaaaaaa"]


def test_who_is_stopped_nowhere_is_not_stopped_later() -> None:
    assert not [*passes.stop_later(best("aabb"))]


def test_all_orders_with_fewer_switches_are_proposed_from_the_fewest_on() -> None:
    candidates = list(map(shown, fewest_runs(best("abab"))))

    assert candidates[:2] == ["aabb", "bbaa"]
    assert sorted(candidates[2:]) == ["abba", "baab"]


def test_orders_near_to_the_one_at_hand_come_first() -> None:
    # Both actors are stopped once, before their 8th step; with two switches only one
    # of them is, and nearest is where it was.
    candidates = list(map(shown, fewest_runs(best("a" * 7 + "b" * 7 + "aaabbb"))))

    assert candidates[2:4] == ["aaaaaaabbbbbbbbbbaaa", "bbbbbbbaaaaaaaaaabbb"]


def test_an_actor_is_only_stopped_where_that_matters() -> None:
    cuts = {"a": [3], "b": []}

    candidates = set(map(shown, fewest_runs(best("aaabaaab", cuts=cuts))))

    assert candidates == {"aaaaaabb", "bbaaaaaa", "aaabbaaa"}


def test_many_switches_do_not_make_many_proposals() -> None:
    # From 3 runs to 7, with at most 40 proposals each.
    assert len([*fewest_runs(best("abc" * 100))]) == 6 + 4 * 40


def test_nothing_has_fewer_switches_than_one_run_for_each_actor() -> None:
    assert not [*fewest_runs(best("aabbc"))]
