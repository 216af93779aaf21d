"""Starting a headless browser."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Return what is missing for a browser, or nothing."""
    try:
        import selenium  # noqa: F401, PLC0415  asked for by being imported
    except ImportError:
        return "selenium is missing"
    if binary() is None or shutil.which("chromedriver") is None:
        return "chromium with its chromedriver is not installed"
    return ""


def binary() -> str | None:
    """Return the browser's path, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def start(profile: Path) -> Any:  # noqa: ANN401  much of selenium has no types
    """Start a browser; nothing may be `missing`.

    Args:
        profile: Folder for what it keeps, which nobody has used.
    """
    # Both are only for those who have a browser.
    from selenium import webdriver  # noqa: PLC0415
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = binary() or ""
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
    driver = shutil.which("chromedriver") or ""
    found = webdriver.Chrome(options=options, service=Service(driver))
    # A machine that does other things as well is slow to draw.
    found.set_script_timeout(120)
    found.set_page_load_timeout(120)
    return found
