"""How long pages take to open and to scrub, in a headless Chromium.

Run as `python benchmarks/pages.py`. The slider is moved to two hundred places in a row;
each is measured in the page, from the event to what the browser has laid out after it.
A frame at 60 Hz lasts 16.7 ms. The last column is the processor time of the page's
thread for each, which is what counts where other programs run as well.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCRUBS = 200
_MEASURE = """
const [scrubber, count] = [document.querySelector("#scrubber"), arguments[0]];
const last = Number(scrubber.max);
const times = [];
for (let at = 0; at < count; at += 1) {
  // Neighbours mostly, as a hand does it, and a jump now and then.
  const step = at % 10 === 0 ? (at * 7919) % last : Number(scrubber.value) + 1;
  const began = performance.now();
  scrubber.value = String(step);
  scrubber.dispatchEvent(new Event("input"));
  document.querySelector("#rows").getBoundingClientRect();
  times.push(performance.now() - began);
}
return times;
"""


def main() -> None:
    """Measure pages of three lengths and print a table."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    # The path is known now.
    from racecheck.report.page import render_race  # noqa: PLC0415
    from tests.report.browsing import start  # noqa: PLC0415
    from tests.report.races import long_race  # noqa: PLC0415

    print(
        "| steps | size | made in | opened in "
        "| a scrub: median | 95 % | longest | processor |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        chrome = start(Path(folder) / "profile")
        try:
            for steps in (100, 1_000, 10_000):
                began = time.perf_counter()
                text = render_race(long_race(steps))
                made = time.perf_counter() - began
                page = Path(folder) / f"{steps}.html"
                page.write_text(text, "utf-8")
                began = time.perf_counter()
                chrome.get(page.as_uri())
                opened = time.perf_counter() - began
                chrome.execute_cdp_cmd(
                    "Performance.enable", {"timeDomain": "threadTicks"}
                )
                before = _processor_s(chrome)
                times = sorted(chrome.execute_script(_MEASURE, SCRUBS))
                processor = (_processor_s(chrome) - before) / SCRUBS
                print(
                    f"| {steps} | {len(text) / 1e6:.2f} MB | {made:.2f} s "
                    f"| {opened:.2f} s | {statistics.median(times):.1f} ms "
                    f"| {times[int(0.95 * len(times))]:.1f} ms | {times[-1]:.1f} ms "
                    f"| {1000 * processor:.1f} ms |"
                )
        finally:
            chrome.quit()


def _processor_s(chrome: Any) -> float:  # noqa: ANN401  selenium has few types
    """Return how long the page's thread has run so far."""
    metrics = chrome.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return sum(
        float(each["value"]) for each in metrics if each["name"] == "TaskDuration"
    )


if __name__ == "__main__":
    main()
