"""Guards the parts of sound eviction: each is told apart from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from racecheck.errors import ScenarioError
from racecheck.invariants import (
    cap_holds,
    evicted_as_chosen,
    never_evicted,
    never_missing,
    no_live_temp_evicted,
    no_needless_eviction,
)
from racecheck.model import Kind
from tests.unit.fakes import Play, program

if TYPE_CHECKING:
    from racecheck.model import Invariant, Value

ACTORS = (program("serve"), program("evict", "evictor"))
TEMP = "c/a.tmp.1"


def play(*invariants: Invariant, **files: bytes | None) -> Play:
    played = {path.replace("__", "/"): data for path, data in files.items()}
    return Play(*invariants, programs=ACTORS, files=played)


def look(played: Play, path: str, identity: str) -> None:
    played.view.meant = (identity,)
    played.step("evict", Kind.STAT, args={"path": path})


def unlink(played: Play, path: str, identity: str, actor: str = "evict") -> None:
    played.view.files.pop(path, None)
    played.view.meant = (identity,)
    played.step(actor, Kind.UNLINK, args={"path": path})


def rename(
    played: Play, old: str, new: str, meant: tuple[str, str], flags: str = ""
) -> None:
    files = played.view.files
    data = files.pop(old, None)
    if flags:
        files[old] = files[new]
    if data is not None:
        files[new] = data
    played.view.meant = meant
    args: dict[str, Value] = {"oldpath": old, "newpath": new, "flags": flags}
    played.step("evict", Kind.RENAME, args=args)


def test_a_temp_file_in_use_is_not_to_be_evicted() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    unlink(played, TEMP, "serve#0")

    (message,) = played.messages
    assert message == (
        "expected no temporary file in use to be evicted, but evict removed "
        "'c/a.tmp.1' of serve"
    )


def test_to_rename_a_temp_file_away_is_to_evict_it() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    rename(played, TEMP, "c/x", ("serve#0", ""))

    assert len(played.messages) == 1


def test_to_rename_a_file_over_a_temp_file_is_to_evict_it() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    rename(played, "c/x", TEMP, ("c/x", "serve#0"))

    assert len(played.messages) == 1


def test_to_rename_its_folder_is_to_evict_a_temp_file() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    played.view.files["old/a.tmp.1"] = b""
    played.view.identities["old/a.tmp.1"] = "serve#0"
    rename(played, "c", "old", ("c", ""))

    (message,) = played.messages
    assert "evict removed 'c/a.tmp.1' of serve" in message


@pytest.mark.parametrize("end", ["operation", "crash", "exit"])
def test_a_temp_file_that_nobody_uses_may_go(end: str) -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    getattr(played, end)("serve")
    unlink(played, TEMP, "serve#0")

    assert played.messages == []


def test_the_temp_file_of_a_later_operation_is_in_use() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    played.operation("serve")
    played.step("serve", Kind.OPEN, operation=1)
    unlink(played, TEMP, "serve#1")

    assert len(played.messages) == 1


def test_old_files_failures_and_others_are_no_evictions_of_temp_files() -> None:
    played = play(no_live_temp_evicted("c/*.tmp.*"))
    played.step("serve", Kind.OPEN)
    unlink(played, TEMP, TEMP)
    unlink(played, "c/a", "serve#0")
    unlink(played, TEMP, "serve#0", actor="serve")
    played.view.meant = ("serve#0",)
    played.step("evict", Kind.UNLINK, args={"path": TEMP}, result=-13)

    assert played.messages == []


def test_another_file_than_the_one_that_was_looked_at_was_never_chosen() -> None:
    played = play(evicted_as_chosen())
    look(played, "c/a", "c/a")
    unlink(played, "c/a", "serve#4")

    (message,) = played.messages
    assert message == (
        "expected the file that was looked at to be evicted, but evict removed the "
        "file that serve made in its step 4 at 'c/a', where it had found the first "
        "'c/a'"
    )


def test_the_last_look_counts_and_a_listing_is_one() -> None:
    played = play(evicted_as_chosen(), c__a=b"1", c__b=b"2")
    look(played, "c/a", "c/a")
    played.view.identities["c/a"] = "serve#4"
    played.view.meant = ("c",)
    played.step("evict", Kind.LISTING, args={"file": "c"}, names="a\nb")
    unlink(played, "c/a", "serve#4")
    assert played.messages == []

    unlink(played, "c/b", "serve#6")
    assert "where it had found the first 'c/b'" in played.messages[0]


def test_what_was_never_looked_at_is_not_judged() -> None:
    played = play(evicted_as_chosen())
    unlink(played, "c/a", "serve#4")

    assert played.messages == []


def test_what_was_chosen_is_still_that_where_it_was_renamed_to() -> None:
    played = play(evicted_as_chosen())
    look(played, "c/a", "c/a")
    rename(played, "c/a", "c/aside", ("serve#4", ""))
    assert played.messages == []

    unlink(played, "c/aside", "serve#4")
    assert len(played.messages) == 1


def test_another_look_at_what_was_renamed_away_chooses_it() -> None:
    played = play(evicted_as_chosen())
    look(played, "c/a", "c/a")
    rename(played, "c/a", "c/aside", ("serve#4", ""))
    look(played, "c/aside", "serve#4")
    unlink(played, "c/aside", "serve#4")

    assert played.messages == []


def test_what_is_renamed_to_a_name_was_not_chosen_by_what_was_there() -> None:
    played = play(evicted_as_chosen())
    look(played, "c/aside", "c/aside")
    unlink(played, "c/aside", "c/aside")
    rename(played, "c/a", "c/aside", ("serve#4", ""))
    unlink(played, "c/aside", "serve#4")

    assert played.messages == []


@pytest.mark.parametrize(("flags", "messages"), [("", 1), ("RENAME_EXCHANGE", 0)])
def test_to_rename_another_file_over_it_removes_a_file(
    flags: str, messages: int
) -> None:
    played = play(evicted_as_chosen(), c__a=b"1", c__b=b"2")
    look(played, "c/a", "c/a")
    rename(played, "c/b", "c/a", ("c/b", "serve#4"), flags)

    assert len(played.messages) == messages


def test_two_names_of_one_file_cannot_be_renamed_to_each_other() -> None:
    played = play(evicted_as_chosen())
    look(played, "c/a", "c/a")
    rename(played, "c/b", "c/a", ("serve#4", "serve#4"))

    assert played.messages == []


def test_what_is_in_use_is_never_evicted() -> None:
    played = play(never_evicted("c/a"), c__a=b"1", c__b=b"2")
    unlink(played, "c/b", "c/b")
    unlink(played, "c/a", "c/a", actor="serve")
    played.step("serve", c__a=b"3")
    assert played.messages == []

    unlink(played, "c/a", "c/a")
    assert played.messages == [
        "expected 'c/a' never to be evicted, but evict removed it"
    ]


def test_an_eviction_under_the_cap_is_needless_whatever_else_lies_there() -> None:
    rule = no_needless_eviction("c/*", cap=1, temps="c/*.tmp.*")
    played = play(rule, c__a=b"1", c__b=b"2", **{"c__a.tmp.1": b"", "c__a.tmp.2": b""})
    unlink(played, "c/a", "c/a")
    unlink(played, "c/a.tmp.1", "c/a.tmp.1")
    assert played.messages == []

    unlink(played, "c/b", "c/b")
    (message,) = played.messages
    assert message == (
        "expected nothing to be evicted from 1 file under a cap of 1, "
        "but evict removed 'c/b'"
    )


def needless() -> Play:
    rule = no_needless_eviction("c/*", cap=2, temps="c/*.tmp.*")
    return play(rule, c__a=b"1", c__b=b"2")


def test_a_folder_is_an_entry_like_any_other() -> None:
    played = needless()
    del played.view.files["c/a"]
    played.view.meant = ("c/a",)
    played.step("evict", Kind.RMDIR, args={"path": "c/a"})

    assert len(played.messages) == 1


def test_to_rename_an_entry_away_and_remove_it_there_is_to_evict_it() -> None:
    played = needless()
    rename(played, "c/a", "aside", ("c/a", ""))
    assert played.messages == []

    unlink(played, "aside", "c/a")
    assert "from 2 files under a cap of 2, but evict removed" in played.messages[0]


@pytest.mark.parametrize("kind", [Kind.RENAME, Kind.LINK])
def test_what_is_brought_back_was_not_evicted(kind: Kind) -> None:
    played = needless()
    rename(played, "c/a", "aside", ("c/a", ""))
    played.view.files["c/a"] = b"1"
    played.view.meant = ("c/a", "")
    played.step("evict", kind, args={"oldpath": "aside", "newpath": "c/a"})
    unlink(played, "aside", "c/a")

    assert played.messages == []


def test_to_rename_one_entry_over_another_is_to_evict_that() -> None:
    played = needless()
    rename(played, "c/a", "c/b", ("c/a", "c/b"))

    assert "evict removed 'c/b'" in played.messages[0]


def test_to_write_an_entry_anew_is_not_to_evict_it() -> None:
    played = needless()
    played.view.files["c/a.tmp.1"] = b"3"
    played.step("evict", Kind.OPEN)
    rename(played, "c/a.tmp.1", "c/b", ("evict#0", "c/b"))

    assert played.messages == []


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ({"files": 2}, None),
        ({"files": 1}, "expected at most 1 file in the end, but found 2: c/a, c/b"),
        ({"nbytes": 5}, None),
        ({"nbytes": 4}, "expected at most 4 bytes in the end, but found 5: c/a, c/b"),
    ],
)
def test_a_cap_is_judged_in_the_end(cap: dict[str, int], message: str | None) -> None:
    played = play(cap_holds("c/*", **cap), c__a=b"12", c__b=b"345")  # type: ignore[arg-type]  # by name
    played.step("serve", c__c=b"6")
    played.step("serve", Kind.UNLINK, c__c=None)
    played.finish()

    assert played.messages == ([] if message is None else [message])


def test_what_an_evictor_removed_may_be_missing_and_only_that() -> None:
    played = play(never_missing("c/a", except_by="evictor"), c__a=b"1")
    played.step("evict", Kind.UNLINK, c__a=None)
    played.step("serve", Kind.STAT)
    played.step("serve", Kind.WRITE)
    played.step("serve", c__a=b"2")
    assert played.messages == []

    played.step("serve", Kind.UNLINK, c__a=None)
    assert "expected 'c/a' to stay" in played.messages[0]


def test_what_an_evictor_removed_may_be_missing_in_the_end() -> None:
    played = play(never_missing("c/a", except_by="evictor"), c__a=b"1")
    played.step("evict", Kind.UNLINK, c__a=None)
    played.finish()

    assert played.messages == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: no_live_temp_evicted("**"),
        lambda: never_evicted("*"),
        lambda: no_needless_eviction("c/*", cap=-1, temps="*.tmp"),
        lambda: cap_holds("c/*"),
        lambda: cap_holds("c/*", files=1, nbytes=1),
        lambda: evicted_as_chosen(role=""),
        lambda: never_missing("a", after="b", except_by="c"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make: Any) -> None:  # noqa: ANN401  wrong calls
    with pytest.raises(ScenarioError):
        make()


@pytest.mark.parametrize(
    "rule",
    [
        no_live_temp_evicted("*.tmp", role="nobody"),
        evicted_as_chosen(role="nobody"),
        never_evicted("a", role="nobody"),
    ],
)
def test_an_evictor_that_there_is_none_of_gives_no_verdict(rule: Invariant) -> None:
    played = play(rule)
    played.finish()

    assert played.judge.errors
