"""A page does what it promises in a real browser, by mouse and by keys alone."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from racecheck.report.page import render_index, render_race
from tests.report.races import ODD_NAMES, long_race, odd_race

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.report.browser import Page

    Open = Callable[..., Page]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_choosing_a_step_shows_what_was_the_case_after_it(open_page: Open) -> None:
    page = open_page(render_race(long_race(100)))

    page.run("racecheck.choose(5)")
    assert page.text("#now").startswith("Step 5: save-1 open(folder/file-5)")
    assert page.names() == {
        "folder": "",
        "folder/file-0": "",
        "folder/file-1": "",
        "folder/file-2": "",
        "folder/file-5": "new",
    }
    assert "made_up/writers.py:7" in page.text("#code")
    assert "line_7('</script>')" in page.text("#code .here")
    page.run("racecheck.choose(-1)")
    assert page.names() == {"folder": ""}
    assert page.text("#output") == "loadbegins\n"
    # The same is shown again when one comes back the other way.
    page.run("racecheck.choose(90)")
    page.run("racecheck.choose(5)")
    assert page.names()["folder/file-5"] == "new"


def test_the_bytes_that_a_step_changed_are_marked(open_page: Open) -> None:
    page = open_page(render_race(long_race(100)))

    # Step 11 writes what step 2 wrote, the same name, anew: "11\n" and a byte.
    page.run("racecheck.choose(11)")
    assert page.names()["folder/file-2"] == "changed"
    assert page.text("#content b") == "folder/file-2"
    page.find('#content input[value="hex"]').click()
    marked = page.text("#content mark").replace(" ", "")
    assert marked
    assert marked in "31310a0b"
    assert "31 31 0a 0b" in page.text("#content pre")


def test_locks_and_output_are_shown_at_their_steps(open_page: Open) -> None:
    page = open_page(render_race(long_race(100)))

    page.run("racecheck.choose(2)")
    assert page.text("#locks") == "No file lock is held."
    page.run("racecheck.choose(3)")
    assert "save-1folder/file-3flock, exclusivewhole file3" in page.text("#locks")
    page.run("racecheck.choose(50)")
    assert "folder/file-5 at 50" in page.text("#output mark")
    page.run("racecheck.choose(51)")
    assert page.all("#output mark") == []


def test_everything_can_be_done_by_keys(open_page: Open) -> None:
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415  may be missing

    page = open_page(render_race(odd_race()))
    rows = page.find("#rows")
    rows.send_keys(Keys.HOME)
    assert page.chosen == -1
    rows.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert page.chosen == 0
    assert rows.get_attribute("aria-activedescendant") == "step-0"
    rows.send_keys(Keys.END)
    assert page.chosen == 27
    scrubber = page.find("#scrubber")
    scrubber.send_keys(Keys.ARROW_LEFT)
    assert page.chosen == 26
    # Each thing that does something is reached by the tab key, in order.
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = []
    body = page.find("body")
    body.send_keys(Keys.TAB)
    for _ in range(40):
        active = page.chrome.switch_to.active_element
        reached.append(active.get_attribute("id") or active.get_attribute("class"))
        active.send_keys(Keys.TAB)
    for expected in ("goto", "copy", "previous", "scrubber", "next", "rows"):
        assert expected in reached
    page.find("#copy").send_keys(Keys.ENTER)
    page.find('input[name="view"]').send_keys(Keys.ARROW_RIGHT)
    assert page.run("return document.querySelector('#scrubber').max") == "39"


def test_the_original_is_behind_a_switch(open_page: Open) -> None:
    page = open_page(render_race(odd_race()))
    assert page.find("#scrubber").get_attribute("max") == "27"

    page.find('input[name="view"][value="1"]').click()

    assert page.find("#scrubber").get_attribute("max") == "39"
    assert page.chosen == 39
    page.find(".goto").click()
    assert page.find("#scrubber").get_attribute("max") == "27"


def test_the_command_is_copied(open_page: Open) -> None:
    race = odd_race()
    page = open_page(render_race(race))
    page.chrome.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )

    page.find("#copy").click()

    copied = page.wait(
        """
        const look = () => document.querySelector("#copied").textContent
            ? navigator.clipboard.readText().then(done, (error) => done(String(error)))
            : setTimeout(look, 20);
        look();
        """
    )
    assert copied == f"racecheck replay {race.finding.token}"
    assert page.text("#copied") == "Copied."


def test_names_of_the_worst_kind_are_text(open_page: Open) -> None:
    page = open_page(render_race(odd_race()))

    assert page.chrome.title == "made_up/long/shared: whole_images"
    seen: set[str] = set()
    for step in range(28):
        page.run("racecheck.choose(arguments[0])", step)
        seen |= page.names().keys()
    assert ODD_NAMES[0] in seen
    assert ODD_NAMES[4] in seen
    assert "two\\nlines\\r\\x00" in seen
    assert "abc\\u202egnp.exe\\u2066" in seen
    assert page.overflow() <= 0


def test_the_racing_pair_is_marked_and_joined(open_page: Open) -> None:
    page = open_page(render_race(long_race(60)))

    racing = page.all(".row.racing")
    assert len(racing) == 2
    assert page.all(".row.between")
    assert page.all('#rows svg path[stroke="var(--race)"]')
    page.find("#to-race").click()
    assert "chosen" in (page.find(".row.racing.chosen").get_attribute("class") or "")


@pytest.mark.parametrize("steps", [1_000, 10_000])
def test_long_executions_open_and_scrub(open_page: Open, steps: int) -> None:
    page = open_page(render_race(long_race(steps)))

    # Only what can be seen is there.
    assert len(page.all(".row")) < 200
    for step in (0, steps - 1, steps // 2, 7):
        page.run("racecheck.choose(arguments[0])", step)
        assert page.find("#scrubber").get_attribute("value") == str(step)
        assert page.all(f"#step-{step}.chosen")
    assert page.run("return racecheck.lastChoiceMs() > 0")


@pytest.mark.parametrize("width", [400, 800, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_windows_of_all_sizes(
    open_page: Open, width: int, scheme: str
) -> None:
    text = render_race(odd_race())
    page = open_page(text, width=width)
    page.chrome.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )

    assert page.overflow() <= 0
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(22, 24, 27)") == (scheme == "dark")


def test_all_steps_are_printed(open_page: Open) -> None:
    page = open_page(render_race(long_race(200)))
    page.run(
        """
        window.addEventListener("beforeprint", () => {
            window.printed = document.querySelectorAll(".row[role=option]").length;
        });
        """
    )

    printed = page.chrome.execute_cdp_cmd("Page.printToPDF", {})

    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert page.run("return window.printed") == 200
    assert len(page.all(".row[role=option]")) < 200


def document() -> dict[str, object]:
    """Return results with one scenario of each sort."""

    def scenario(name: str, verdict: str, *, as_expected: bool) -> dict[str, object]:
        return {
            "name": name,
            "verdict": verdict,
            "reason": "",
            "coverage": "complete",
            "executions": 3,
            "expected": [],
            "as_expected": as_expected,
            "violations": [],
        }

    return {
        "racecheck": "0.1.0",
        "seed": 0,
        "scenarios": [
            scenario("a/one/x", "passed", as_expected=True),
            scenario("a/one/y", "violated", as_expected=False),
            scenario("b/two/x", "unknown", as_expected=False),
        ],
    }


def test_the_list_of_scenarios_can_be_filtered(open_page: Open) -> None:
    page = open_page(render_index(document(), {}), width=400)

    def shown() -> list[str]:
        rows = page.all("#all tbody tr")
        return [row.get_attribute("id") or "" for row in rows if row.is_displayed()]

    assert page.overflow() <= 0
    assert shown() == ["a/one/x", "a/one/y", "b/two/x"]
    page.find("#surprises").click()
    assert shown() == ["a/one/y", "b/two/x"]
    page.find("#name").send_keys("ONE")
    assert shown() == ["a/one/y"]
    assert page.text("#count") == "1 of 3 shown"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", ["race", "list"])
def test_contrast_and_labels_pass_axe(open_page: Open, scheme: str, what: str) -> None:
    axe = pytest.importorskip("axe_core_python.base", reason="axe-core is missing")
    text = render_race(odd_race()) if what == "race" else render_index(document(), {})
    page = open_page(text)
    page.chrome.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    page.run(axe.AXE_SCRIPT)

    found = page.wait("axe.run(document).then(done, (error) => done(String(error)))")

    assert len(found["passes"]) > 10
    assert [
        (each["id"], [node["html"][:120] for node in each["nodes"]][:4])
        for each in found["violations"]
    ] == []
