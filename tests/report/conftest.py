"""A real browser for tests of pages."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.report.browser import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A headless browser; tests that need one skip where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium with its chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    found = webdriver.Chrome(options=options, service=service.Service(driver))
    # A machine that does other things as well is slow to draw.
    found.set_script_timeout(120)
    found.set_page_load_timeout(120)
    # What the browser shows by itself is none of the pages.
    found.get("about:blank")
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
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert asked
