"""A real browser for tests of pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.report.browser import Page
from tests.report.browsing import missing, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A headless browser; tests that need one skip where there is none."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    found: Chrome = start(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


@pytest.fixture
def open_page(chrome: Chrome, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open pages; at the end nothing was complained of, and nothing was asked for."""
    for log in ("browser", "performance"):
        Page(chrome).logged(log)

    def open_it(text: str, *, width: int = 1300, height: int = 900) -> Page:
        path = tmp_path / "page.html"
        path.write_text(text, "utf-8")
        chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        chrome.get(path.as_uri())
        return Page(chrome)

    yield open_it
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    said = Page(chrome).logged("browser")
    asked = [
        message["params"]["request"]["url"]
        for entry in Page(chrome).logged("performance")
        if (message := json.loads(entry)["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert said == []
    # What the browser shows by itself, at its start, is none of the page's.
    own = ("file://", "data:", "chrome://", "chrome-untrusted://")
    assert [url for url in asked if not url.startswith(own)] == []
    assert asked
