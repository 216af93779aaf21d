"""A recording shows code, files, locks and output at each step, and changes none."""

from __future__ import annotations

import fcntl
import inspect
import multiprocessing
import os
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from racecheck.engine import stacks
from racecheck.model import Kind
from racecheck.model.contents import restore
from racecheck.scenario import Scenario, command, crash
from tests.engine.lab import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from racecheck.model import Detail, Frame, Node, PlannedFault, Step, Trace

pytestmark = pytest.mark.processes

HERE = "tests/engine/test_recording.py"


def detail(trace: Trace) -> Detail:
    """Return what was recorded; there is a moment for each step."""
    assert trace.detail is not None
    assert len(trace.detail.moments) == len(trace.steps)
    return trace.detail


def stack(trace: Trace, step: Step) -> list[Frame]:
    """Return the stack of a step, innermost first."""
    found = detail(trace)
    number = found.moments[step.index].stack
    return [found.frames[each] for each in found.stacks[number]] if number >= 0 else []


def own(trace: Trace, step: Step) -> tuple[str, str]:
    """Return the innermost function of the subject at a step, with the line's text."""
    frame = next(frame for frame in stack(trace, step) if not frame.library)
    assert frame.file == HERE
    return frame.function, detail(trace).sources[HERE][frame.line].strip()


def box_after(trace: Trace, step: Step) -> dict[str, Node]:
    """Return the box as it was after a step, put together from the changes."""
    box = dict(detail(trace).start)
    for moment in detail(trace).moments[: step.index + 1]:
        for path in moment.gone:
            del box[path]
        box |= moment.changed
    return box


def scenario(
    *functions: Callable[..., object], faults: Iterable[PlannedFault] = ()
) -> Scenario:
    """Return a scenario with an actor for each function, called by its name."""
    made = Scenario("recorded", faults=faults)
    for each in functions:
        made.writer(each)
    return made


def publish(box: Path) -> None:
    temp = box / "answer.tmp"
    temp.write_text("42\n")
    temp.rename(box / "answer")


def test_each_step_of_a_function_has_its_line_with_library_frames_marked() -> None:
    seen = run(scenario(publish), record=True)

    (opened,), (renamed,) = seen.of("publish", Kind.OPEN), seen.of("publish", "rename")
    assert own(seen.trace, opened) == ("publish", 'temp.write_text("42\\n")')
    assert own(seen.trace, renamed) == ("publish", 'temp.rename(box / "answer")')
    inner = stack(seen.trace, opened)[0]
    assert ("pathlib" in inner.file, inner.library) == (True, True)
    # Not even of the library's files is it said where they are on this machine.
    assert not any(frame.file.startswith("/") for frame in detail(seen.trace).frames)


def test_what_surrounds_a_line_is_stored_with_it() -> None:
    seen = run(scenario(publish), record=True)

    lines, first = inspect.getsourcelines(publish)
    stored = detail(seen.trace).sources[HERE]
    for number, text in enumerate(lines, first):
        assert stored[number] == text.rstrip("\n")


def test_a_recorded_execution_goes_as_one_that_is_not() -> None:
    def work(box: Path) -> list[str]:
        for each in range(3):
            (box / f"{os.getpid()}.{each}").write_bytes(os.urandom(5))
        # No addresses: they are those of the tests' process, which each run is forked
        # from, and what one brings back moves those of the next.
        return sorted(os.listdir(box))

    made = Scenario("recorded")
    made.writer(work, count=2)

    recorded = run(made, "work-1 to write", "work-2 to end", record=True)
    plain = run(made, "work-1 to write", "work-2 to end")

    assert [str(step) for step in recorded.trace.steps] == [
        str(step) for step in plain.trace.steps
    ]
    assert recorded.trace.operations == plain.trace.operations
    assert recorded.files == plain.files
    assert plain.trace.detail is None


def first_thread(box: Path) -> None:
    os.mkdir(box / "first")


def second_thread(box: Path) -> None:
    os.mkdir(box / "second")


def both_threads(box: Path) -> None:
    threads = [
        threading.Thread(target=each, args=(box,))
        for each in (first_thread, second_thread)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_threads_have_stacks_of_their_own() -> None:
    seen = run(scenario(both_threads), record=True)

    made = [step for step in seen.trace.steps if step.kind is Kind.MKDIR]
    assert {step.task for step in made} == {1, 2}
    assert {own(seen.trace, step) for step in made} == {
        ("first_thread", 'os.mkdir(box / "first")'),
        ("second_thread", 'os.mkdir(box / "second")'),
    }


def forked(box: Path) -> None:
    context = multiprocessing.get_context("fork")
    child = context.Process(target=first_thread, args=(box,))
    child.start()
    child.join()


def test_forked_children_have_stacks_too() -> None:
    seen = run(scenario(forked), record=True)

    (made,) = (step for step in seen.trace.steps if step.kind is Kind.MKDIR)
    assert made.task > 0
    assert own(seen.trace, made) == ("first_thread", 'os.mkdir(box / "first")')
    # A fork carries on what its parent was doing.
    assert "forked" in {frame.function for frame in stack(seen.trace, made)}


def naïve_Ā_𝒳(box: Path) -> None:  # noqa: N802, PLC2401  it is about such names
    os.mkdir(box / "é")


def test_names_of_functions_need_not_be_ascii() -> None:
    made = Scenario("recorded")
    made.writer(naïve_Ā_𝒳, name="odd")
    seen = run(made, record=True)

    (step,) = seen.of("odd", Kind.MKDIR)
    # Python itself makes the last letter a plain one.
    assert own(seen.trace, step)[0] == naïve_Ā_𝒳.__qualname__


def started(box: Path) -> None:
    subprocess.run(["sh", "-c", f"mkdir '{box}/made'"], check=True)


def test_other_programs_are_told_by_their_command() -> None:
    made = scenario(started)
    made.writer(name="shell")(
        command(["sh", "-c", "echo 42 > {box}/answer; rm answer"])
    )
    seen = run(made, record=True)

    (removed,) = seen.of("shell", Kind.UNLINK)
    (folder,) = seen.of("started", Kind.MKDIR)
    programs = detail(seen.trace).programs
    moments = detail(seen.trace).moments
    assert programs[moments[removed.index].program] == "rm answer"
    assert programs[moments[folder.index].program] == "mkdir made"
    assert stack(seen.trace, removed) == []
    shells = [moments[step.index].program for step in seen.of("shell", Kind.WRITE)]
    assert {programs[each] for each in shells} == {
        "sh -c 'echo 42 > answer; rm answer'"
    }


def test_command_lines_do_not_tell_where_files_are() -> None:
    made = Scenario("recorded")
    script = os.path.abspath(__file__)
    code = "import sys; open('made', 'w').write(sys.argv[1][-4:])"
    made.writer(name="python")(command([sys.executable, "-c", code, script]))
    seen = run(made, record=True)

    # From Python 3.13 on the interpreter looks for a file of the name <string>, too.
    *_, opened = seen.of("python", Kind.OPEN)
    assert opened.args["path"] == "made"
    number = detail(seen.trace).moments[opened.index].program
    words = shlex.split(detail(seen.trace).programs[number])
    assert words == ["python", "-c", code, HERE]


def test_a_crash_has_the_line_that_was_not_reached() -> None:
    made = scenario(publish, faults=[crash("publish", on="rename")])
    seen = run(made, record=True)

    (crashed,) = seen.of("publish", Kind.CRASH)
    assert own(seen.trace, crashed) == ("publish", 'temp.rename(box / "answer")')


def change_all(box: Path) -> None:
    (box / "folder").mkdir()
    (box / "folder" / "link").symlink_to(box / "old")
    os.link(box / "old", box / "folder" / "same")
    with open(box / "old", "r+b", buffering=0) as file:
        file.seek(2)
        file.write(b"XY")
        os.ftruncate(file.fileno(), 3)
    (box / "old").chmod(0o600)
    (box / "old").unlink()


def test_the_box_can_be_put_together_again_after_each_step() -> None:
    made = scenario(change_all)

    @made.setup
    def fill(box: Path) -> None:
        (box / "old").write_bytes(b"abcdef")

    seen = run(made, record=True)

    contents = restore(detail(seen.trace).contents)
    (written,) = seen.of("change_all", Kind.WRITE)
    (cut,) = seen.of("change_all", Kind.TRUNCATE)
    (mode,) = seen.of("change_all", Kind.CHMOD)
    last = seen.trace.steps[-1]
    assert {
        path: node.kind for path, node in box_after(seen.trace, written).items()
    } == {
        "old": "file",
        "folder": "folder",
        "folder/link": "link",
        "folder/same": "file",
    }
    for step, data in ((written, b"abXYef"), (cut, b"abX")):
        box = box_after(seen.trace, step)
        assert contents[box["old"].content] == data
        assert contents[box["folder/same"].content] == data
        assert box["old"].object == box["folder/same"].object
        assert box["folder/link"].target == "old"
    assert box_after(seen.trace, mode)["old"].mode == 0o600
    assert set(box_after(seen.trace, last)) == {"folder", "folder/link", "folder/same"}
    assert contents[detail(seen.trace).start["old"].content] == b"abcdef"


def lock_first(box: Path) -> None:
    with open(box / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (box / "first").touch()


def lock_second(box: Path) -> None:
    with open(box / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_locks_are_shown_from_their_taking_to_their_release() -> None:
    script = ("lock_first to flock", "lock_first", "lock_second to end", "lock_first")
    seen = run(scenario(lock_first, lock_second), *script, record=True)

    taken = seen.of("lock_first", Kind.FLOCK)[0]
    moments = detail(seen.trace).moments
    (held,) = moments[taken.index].locks or ()
    assert (held.lane, held.path, held.type) == ("lock_first", "lock", "flock")
    assert (held.exclusive, held.step) == (True, taken.index)
    tried = seen.of("lock_second", Kind.FLOCK)[0]
    (waiting,) = (moments[tried.index].waiting or {}).items()
    assert waiting == (
        "lock_second",
        f"flock lock, held by lock_first since step {taken.index}",
    )
    changes = [
        [each.lane for each in moment.locks]
        for moment in moments
        if moment.locks is not None
    ]
    assert changes == [["lock_first"], [], ["lock_second"], []]


def talk(box: Path) -> None:
    print("before", flush=True)  # noqa: T201  it is about what is printed
    (box / "one").touch()
    print("between", flush=True)  # noqa: T201  as above
    (box / "two").touch()


def test_output_is_shown_at_the_step_after_which_it_was_printed() -> None:
    seen = run(scenario(talk), record=True)

    found = detail(seen.trace)
    assert found.printed == {"talk": "before\n"}
    closed = seen.of("talk", Kind.CLOSE)[0]
    assert [
        (index, moment.printed)
        for index, moment in enumerate(found.moments)
        if moment.printed
    ] == [(closed.index, {"talk": "between\n"})]


def test_where_stacks_cannot_be_read_all_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise LookupError("no innermost frame")

    monkeypatch.setattr(stacks, "_find_layout", fail)
    seen = run(scenario(publish), record=True)

    assert detail(seen.trace).stacks == ()
    assert "answer" in box_after(seen.trace, seen.trace.steps[-1])


def test_stacks_can_be_read_under_the_interpreter_that_runs_the_tests() -> None:
    assert stacks.Stacks().available, sys.version
