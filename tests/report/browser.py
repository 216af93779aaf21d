"""A page as a reader uses it, for tests in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement


class Page:
    """An open page."""

    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome
        # Some of what selenium has is without types.
        self._untyped = cast("Any", chrome)

    def find(self, selector: str) -> WebElement:
        """Return the element of a CSS selector."""
        return self.chrome.find_element("css selector", selector)

    def all(self, selector: str) -> list[WebElement]:
        """Return all elements of a CSS selector."""
        return self.chrome.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        """Return the text of an element, be it visible or not."""
        found = self.find(selector).get_attribute("textContent")
        return found or ""

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401  what the script returns
        """Run a script in the page."""
        return self._untyped.execute_script(script, *arguments)

    def wait(self, script: str) -> Any:  # noqa: ANN401  as above
        """Run a script that calls `done` in the end, and return what it gives that."""
        whole = f"const done = arguments[0]; {script}"
        return self._untyped.execute_async_script(whole)

    def logged(self, log: str) -> list[str]:
        """Return what was logged since one last asked: `browser`, `performance`."""
        return [entry["message"] for entry in self._untyped.get_log(log)]

    @property
    def chosen(self) -> int:
        """The step that is shown."""
        return int(self.run("return window.racecheck.chosen()"))

    def names(self) -> dict[str, str]:
        """Return the files that are shown, with what is said to have changed."""
        found: dict[str, str] = self.run(
            """
            const found = {};
            for (const each of document.querySelectorAll("#files button")) {
                const tag = each.querySelector(".tag");
                found[each.title] = tag ? tag.textContent : "";
            }
            return found;
            """
        )
        return found

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(
            self.run(
                "const root = document.documentElement;"
                "return root.scrollWidth - root.clientWidth"
            )
        )
