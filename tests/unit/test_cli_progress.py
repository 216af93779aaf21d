"""Guards how progress looks, on a terminal and in a log."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from racecheck.cli.progress import LineDisplay, LiveDisplay, display, progress_line
from racecheck.model import Progress

if TYPE_CHECKING:
    from collections.abc import Callable


def at(name: str = "image/one", **fields: object) -> Progress:
    values: dict[str, object] = {"executions": 30, "seconds": 2.0, "found": ()}
    return Progress(name=name, **{**values, **fields})  # type: ignore[arg-type]  # checked by use


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def move(seconds: float) -> None:
        now[0] += seconds

    return move


def test_a_line_says_how_far_it_is() -> None:
    assert progress_line(at()) == "image/one: 30 executions, 15/s"
    assert progress_line(at(seconds=0.0)) == "image/one: 30 executions"
    assert progress_line(at(found=("a", "b\n"))) == (
        r"image/one: 30 executions, 15/s, found a, b\n"
    )


def test_a_log_gets_a_line_now_and_then(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with LineDisplay(3) as shown:
        shown.update(at())
        clock(10)
        shown.update(at(executions=40))
        shown.update(at(executions=50))
        shown.write("a result", done="image/one")
        clock(10)
        shown.update(at(executions=60))

    out, err = capsys.readouterr()
    assert out == "a result\n"
    assert err.splitlines() == [
        "[0 of 3] image/one: 40 executions, 20/s",
        "[1 of 3] image/one: 60 executions, 30/s",
    ]


def test_a_terminal_gets_lines_that_go_away(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    screen = io.StringIO()
    console = Console(
        file=screen, force_terminal=True, width=60, color_system=None, _environ={}
    )
    with LiveDisplay(console, 20) as shown:
        clock(1)
        for index in range(12):
            shown.update(at(f"s{index}[bold]"))
        clock(1)
        shown.update(at("s0[bold]", executions=50))
        drawn = screen.getvalue()
        shown.write("a result", done="s0[bold]")
        shown.write("a remark")
        after = screen.getvalue()[len(drawn) :]

    assert "s0[bold]: 50 executions, 25/s" in drawn
    assert "s7[bold]" in drawn
    assert "s8[bold]" not in drawn
    assert "0 of 20 scenarios done" in drawn
    assert "1 of 20 scenarios done" in after
    assert "s0[bold]" not in after
    assert capsys.readouterr().out == "a result\na remark\n"
    # The last thing that is done to the screen is to erase a line.
    assert screen.getvalue().rstrip("\r\n").endswith(("\x1b[2K", "\x1b[?25h"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "term", "kind"),
    [
        (None, "xterm", LineDisplay),
        (io.StringIO(), "xterm", LineDisplay),
        (Terminal(), "dumb", LineDisplay),
        (Terminal(), "xterm", LiveDisplay),
    ],
)
def test_only_a_terminal_that_can_gets_what_moves(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None, term: str, kind: type
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)

    assert type(display(1)) is kind
