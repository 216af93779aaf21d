"""A page is one file of text that nothing in a trace can turn into anything else."""

from __future__ import annotations

import importlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import msgspec
import pytest

from racecheck.report.diagnosis import Diagnosis
from racecheck.report.markdown import summarize
from racecheck.report.page import render_index, render_race
from racecheck.storage import read_trace, write_trace
from tests.report.races import ODD_NAMES, long_race, odd_race

if TYPE_CHECKING:
    from pathlib import Path

    from racecheck.report.diagnosis.case import Case

MOST_BYTES = 300_000


class Parts(HTMLParser):
    """Takes a page apart.

    Attributes:
        tags: The elements, with their attributes.
        texts: What is in each script and style.
        words: All other text.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if self._inside in {"script", "style"}:
            self.texts.append(data)
        else:
            self.words.append(data)


def test_names_get_into_a_page_as_text_alone() -> None:
    page = render_race(odd_race())
    plain = render_race(long_race(28))

    odd, usual = Parts(page), Parts(plain)
    # A name that was taken for markup would have added an element.
    scripts = [tag for tag, _ in odd.tags if tag in {"script", "style", "title"}]
    assert scripts == [
        tag for tag, _ in usual.tags if tag in {"script", "style", "title"}
    ]
    assert "<script>document" not in page
    assert "\u202e" not in page
    assert "\u2066" not in page
    assert "{{ 7 * 7 }}" in page
    data = json.loads(next(text for text in odd.texts if text.startswith("{")))
    shown = json.dumps(data["views"], ensure_ascii=False)
    assert "abc\\\\u202egnp.exe" in shown
    assert ODD_NAMES[4] in shown


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    page = Parts(render_race(odd_race(), index="index.html"))

    addresses = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in {"src", "href", "action", "data", "poster"}
    ]
    assert addresses == ["data:,", "index.html"]
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    code = "\n".join(text for text in page.texts if not text.startswith("{"))
    assert set(re.findall(r"https?://[^\"' ]+", code)) == {"http://www.w3.org/2000/svg"}


def test_equal_races_give_equal_pages(tmp_path: Path) -> None:
    race = odd_race()
    path = tmp_path / "race.trace"
    write_trace(race, path)

    first = render_race(read_trace(path))
    write_trace(read_trace(path), path)

    assert render_race(read_trace(path)) == first


def test_a_stored_race_gives_the_same_page_as_a_fresh_one(
    tmp_path: Path,
) -> None:
    race = long_race(40)
    path = tmp_path / "race.trace"
    write_trace(race, path)

    assert render_race(read_trace(path)) == render_race(race)


def test_the_page_of_thirty_steps_is_small() -> None:
    page = render_race(long_race(30))

    assert len(page.encode()) <= MOST_BYTES


def test_a_page_can_be_made_of_a_trace_without_a_recording() -> None:
    race = long_race(10)
    bare = msgspec.structs.replace(race.finding.trace, detail=None)
    finding = msgspec.structs.replace(race.finding, trace=bare, token="", curve=())

    page = render_race(msgspec.structs.replace(race, finding=finding))

    assert "racecheck replay" not in page
    assert '"recorded":false' in page


@pytest.mark.parametrize("as_expected", [True, False])
def test_the_list_links_each_race_to_its_page(*, as_expected: bool) -> None:
    violation = {
        "invariant": "whole_images",
        "steps": 20,
        "context_switches": 3,
        "message": "",
    }
    scenario = {
        "name": "head_image/two_serves/shared",
        "verdict": "violated",
        "reason": "",
        "coverage": "cut",
        "executions": 12,
        "expected": ["whole_images"],
        "as_expected": as_expected,
        "violations": [violation],
    }
    passed = {**scenario, "name": "head_image/two_serves/pid", "verdict": "passed"}
    document = {
        "racecheck": "0.1.0",
        "seed": 3,
        "scenarios": [scenario, {**passed, "violations": []}],
    }
    address = "head_image.two_serves.shared.whole_images.html"

    page = render_index(document, {(str(scenario["name"]), "whole_images"): address})

    parts = Parts(page)
    links = [attributes.get("href") for tag, attributes in parts.tags if tag == "a"]
    assert address in links
    assert f"#{scenario['name']}" in links
    text = " ".join(" ".join(parts.words).split())
    assert text.count("surprise") == 1 + 2 * (not as_expected)
    assert ("2 as expected" in text) is as_expected


def test_a_diagnosis_is_shown_with_its_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    # The module, which has the name of its function.
    module = importlib.import_module("racecheck.report.diagnosis.diagnose")
    known = Diagnosis(
        pattern="made-up",
        title="Somebody <else> came first",
        sentence="One & the other met.",
        why="Because they did.",
        first=3,
        second=9,
        recipe="docs/recipes.md#made-up",
        repair="Let them not meet.",
    )

    def fits(case: Case) -> Diagnosis:
        del case
        return known

    monkeypatch.setattr(module, "PATTERNS", (fits,))
    race = long_race(20)

    page = Parts(render_race(race))

    text = " ".join(" ".join(page.words).split())
    for part in (known.title, known.sentence, known.why, known.repair, known.recipe):
        assert part in text
    data = json.loads(next(each for each in page.texts if each.startswith("{")))
    assert data["views"][0]["pair"] == {"first": 3, "second": 9, "relied": None}
    assert known.why in summarize(race).replace("\\", "")
