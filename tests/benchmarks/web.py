"""The page in Chromium: its opening, the scroll of 10,000 events, a fast stream. Prints one line a figure.

python -m tests.benchmarks.web

Opening is timed by the page's own clock, from the start of the navigation to the frame that shows it, over loopback. On
a first visit the browser's cache is empty; the server has been asked before. Figures are of the machine and its load:
compare two runs side by side. tests/plugins/web/test_budgets.py asserts what does not depend on the load.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import sync_playwright
from tests.plugins.web.conftest import AGENTS, chromium_path, serving

COUNT = 10_000
#: Scrolls by one row's height each frame, and returns the milliseconds between frames.
SCROLL = """(frames) => new Promise((done) => {
  const node = document.querySelector('.panel .scroll'), gaps = [];
  let last = performance.now(), left = frames;
  const step = (now) => {
    gaps.push(now - last); last = now; node.scrollTop += 81;
    if (left--) requestAnimationFrame(step); else done(gaps.slice(1));
  };
  requestAnimationFrame(step);
})"""


#: Notes the milliseconds until the field of messages exists, and until the row of the last event is painted.
NOTE = """(() => {
  const noted = window.noted = {};
  const look = () => {
    if (!noted.write && document.getElementById('write')) noted.write = performance.now();
    if (!noted.last && document.querySelector('[role=grid] tr[aria-rowindex="%d"]')) {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { noted.last = performance.now(); };
      requestAnimationFrame(() => port2.postMessage(0));
      return;
    }
    requestAnimationFrame(look);
  };
  look();
})()"""
#: What was noted, once it is.
NOTED = """(name) => new Promise((done) => {
  const look = () => { if (window.noted[name]) done(window.noted[name]); else setTimeout(look, 20); };
  look();
})"""
#: Notes the milliseconds between frames, from the first chunk of a stream to its end.
STREAM = """() => {
  window.frames_ = new Promise((done) => {
    const gaps = [];
    let last = 0;
    const step = (now) => {
      const flows = document.querySelector('.caret');
      if (last) gaps.push(now - last);
      if (flows || last) last = now;
      if (last && !flows) done(gaps); else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}"""


@contextmanager
def tasks(page: Any) -> Iterator[list[float]]:
    """The milliseconds of CPU of each task of the page's main thread, the longest last, once the block has ended."""
    found: list[float] = []
    traced: list[Any] = []
    ended: list[object] = []
    session = page.context.new_cdp_session(page)
    session.on("Tracing.dataCollected", lambda sent: traced.extend(sent["value"]))
    session.on("Tracing.tracingComplete", lambda sent: ended.append(sent))
    session.send("Tracing.start", {"transferMode": "ReportEvents", "categories": "toplevel,devtools.timeline"})
    yield found
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    page_s = {(one["pid"], one["tid"]) for one in traced if one["name"] == "FireAnimationFrame"}
    whole = [one for one in traced if one["name"].endswith("RunTask") and (one["pid"], one["tid"]) in page_s]
    found.extend(sorted(one.get("tdur", 0) / 1000 for one in whole))


@contextmanager
def pages() -> Iterator[tuple[Any, str, httpx.Client]]:
    """A browser, the server's address, and a client of it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        options = ("--sessions", f"sqlite:///{folder}/s.db", "--no-token")
        with (
            serving(str(AGENTS), *options, cwd=Path(folder)) as address,
            httpx.Client(base_url=address.rstrip("/"), trust_env=False, timeout=120) as api,
        ):
            yield browser, address.rstrip("/"), api
        browser.close()


def long_session(api: httpx.Client) -> str:
    """A session of many events."""
    events = [
        {"author": "user", "content": {"parts": [{"text": f"line {n}"}]}, "invocationId": f"e-{n // 100}"}
        for n in range(COUNT)
    ]
    made = api.post("/apps/support_desk/users/user/sessions", json={"events": events}).raise_for_status()
    id_: str = made.json()["id"]
    return id_


def watched(browser: Any) -> Any:
    """A page of a new visitor: it notes when one can write, and when the last event is on the screen."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(NOTE % COUNT)
    return page


def noted(page: Any, what: str) -> float:
    """The milliseconds from the navigation to what a watched page has noted, once it has."""
    found: float = page.evaluate(NOTED, what)
    return found


def closed(page: Any) -> None:
    """Close a page whose server has answered all it asked: the next one is not to wait for that."""
    page.wait_for_load_state("networkidle")
    page.close()


def opening(browser: Any, address: str, session: str) -> None:
    """From a click on a link to the page: first for a browser that was never here, then for one that was."""
    figures: dict[str, list[float]] = {}
    last = f"{address}/web/#/support_desk/{session}/events/{COUNT}"
    for _ in range(7):
        page = watched(browser)
        page.goto(f"{address}/web/")
        figures.setdefault("one can write, first visit", []).append(noted(page, "write"))
        paints = page.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)")
        figures.setdefault("first paint, first visit", []).extend(paints)
        page.goto("about:blank")
        page.goto(last)
        figures.setdefault(f"the last of {COUNT:,} events, later visit", []).append(noted(page, "last"))
        closed(page)
        page = watched(browser)
        page.goto(last)
        figures.setdefault(f"the last of {COUNT:,} events, first visit", []).append(noted(page, "last"))
        closed(page)
    for name, values in figures.items():
        print(f"{name}: median {statistics.median(values):.0f}, best {min(values):.0f} ms")


def frames(name: str, gaps: list[float], used: list[float]) -> None:
    """Print the times between frames, and what the page's tasks took of the CPU."""
    gaps = sorted(gaps)
    most = gaps[-max(1, len(gaps) // 100)]
    seconds = sum(gaps) / 1000
    print(
        f"{name}, {seconds:.1f} s: {len(gaps) / seconds:.0f} frames a second, between two median "
        f"{statistics.median(gaps):.0f}, p99 {most:.0f}, worst {gaps[-1]:.0f} ms; the page's thread computes "
        f"{sum(used) / len(gaps):.1f} ms a frame, in a task at most {used[-1]:.0f} ms"
    )


def scroll(browser: Any, address: str, session: str) -> None:
    """Through the rows of the events."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/web/#/support_desk/{session}/events")
    page.get_by_role("grid", name="Events").get_by_text("line 3", exact=True).wait_for()
    page.wait_for_timeout(1500)
    with tasks(page) as used:
        gaps = page.evaluate(SCROLL, 600)
    frames("scroll", gaps, used)
    page.close()


def stream(browser: Any, address: str, session: str | None = None) -> None:
    """An answer in Markdown of 2,000 chunks, 500 a second: in a new session or in a long one."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/web/#/support_desk/{session or ''}")
    page.wait_for_timeout(3000)
    page.get_by_label("Write a message").fill("Be fast, in Markdown.")
    page.evaluate(STREAM)
    with tasks(page) as used:
        page.keyboard.press("Enter")
        gaps = page.evaluate("window.frames_")
    frames(f"stream of 2,000 chunks, {'a new' if session is None else 'the long'} session", gaps, used)
    page.close()


def main() -> None:
    """Measure, and print."""
    with pages() as (browser, address, api):
        session = long_session(api)
        opening(browser, address, session)
        scroll(browser, address, session)
        stream(browser, address)
        stream(browser, address, session)


if __name__ == "__main__":
    main()
