"""Budgets of the page, measured by what does not depend on the load of a machine: nodes, renders, layouts, bytes.

The real figures are those of `python -m tests.benchmarks.web`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService
from newel_kernel import Event
from newel_types import Content, FunctionCall, FunctionResponse, Part

expect = pytest.importorskip("playwright.sync_api").expect
FRAMES, ROWS_A_FRAME = 150, 3
#: Scrolls some rows a frame; counts the rows that were added, and those that changed although they stayed.
SCROLL = """([frames, step]) => new Promise((done) => {
  const node = document.querySelector('.rows'), body = node.querySelector('tbody');
  let added = 0, changed = 0, most = 0;
  const watcher = new MutationObserver((list) => {
    for (const one of list) {
      if (one.target === body) added += one.addedNodes.length;
      else if (!one.target.closest('[aria-hidden]')) changed += 1;
    }
    most = Math.max(most, body.childElementCount);
  });
  watcher.observe(body, { childList: true, subtree: true, characterData: true, attributes: true });
  let left = frames;
  const next = () => {
    node.scrollTop += step;
    if (left--) requestAnimationFrame(next); else setTimeout(() => done({ added, changed, most }), 100);
  };
  requestAnimationFrame(next);
})"""


def layouts(page: Any) -> int:
    """How many layouts the page has made so far."""
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    found = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
    return int(found["LayoutCount"])


def test_a_scroll_draws_each_row_once_and_reads_no_layout(page_at: Any, new_session: Callable[..., str]):
    events = [
        {"author": "user", "content": {"parts": [{"text": f"line {n}"}]}, "invocationId": f"e-{n // 100}"}
        for n in range(2_000)
    ]
    page = page_at(f"#/support_desk/{new_session(events=events)}/events")
    expect(page.get_by_role("grid", name="Events")).to_contain_text("line 3")
    page.wait_for_timeout(500)
    before = layouts(page)
    found = page.evaluate(SCROLL, [FRAMES, ROWS_A_FRAME * 27])
    assert found["most"] <= 90
    assert found["changed"] == 0
    passed = FRAMES * ROWS_A_FRAME
    assert passed - 60 <= found["added"] <= passed + 60
    # One for each frame that scrolls, none that a handler forces; others of the page come with the seconds.
    assert layouts(page) - before <= FRAMES * 1.5 + 30


COUNT_RENDERS = """() => {
  window.counted = { frames: 0, renders: 0 };
  const tick = () => { window.counted.frames += 1; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  new MutationObserver(() => { window.counted.renders += 1; }).observe(
    document.querySelector('.talk'), { childList: true, subtree: true, characterData: true });
}"""


def test_a_fast_stream_is_drawn_once_a_frame(page_at: Any):
    page = page_at()
    page.get_by_label("Write a message").fill("Be fast.")
    page.evaluate(COUNT_RENDERS)
    page.keyboard.press("Enter")
    expect(page.get_by_text("chunk 1999")).to_be_visible()
    counted = page.evaluate("window.counted")
    assert counted["renders"] <= counted["frames"] + 20
    assert counted["renders"] < 1000  # far fewer than the 2,000 chunks


#: What streams in pieces is drawn as what comes at once; and blocks that have ended are not made again.
GROWING = """async (texts) => {
  const { growingMarkdown, markdown } = await import('/web/js/markdown.js');
  const wrong = [];
  const plain = (blocks) => JSON.stringify(blocks, (name, value) => (name.startsWith('__') ? undefined : value));
  let again = 0;
  for (const pieces of texts) {
    const draw = growingMarkdown();
    let text = '', before = [];
    for (const piece of pieces) {
      text += piece;
      const drawn = draw(text), whole = markdown(text);
      if (plain(drawn) !== plain(whole)) wrong.push(text);
      again = Math.max(again, before.findIndex((one, n) => drawn[n] !== one) < 0 ? 0
        : before.length - before.findIndex((one, n) => drawn[n] !== one));
      before = drawn;
    }
  }
  return { wrong, again };
}"""
PIECES = ["\n", "\n\n", "\r\n", "\r", "- a", "- ", "  ", "1. b", "```", "```js\n", "~~~", "> c", "| a | b |", "|---|"]
PIECES += ["\n|-|-|\n", "# d", "**e**", "*f", "`g`", "word ", "---", "x | y"]


def test_markdown_that_streams_is_drawn_as_markdown_at_once(page_at: Any):
    made = random.Random(33)
    texts = [[made.choice(PIECES) for _ in range(made.randint(1, 40))] for _ in range(200)]
    found = page_at().evaluate(GROWING, texts)
    assert found["wrong"] == []
    assert 0 < found["again"] <= 6


def turn(number: int) -> list[Event]:
    """The events of a turn with a tool."""
    call = Part(function_call=FunctionCall(id=f"c{number}", name="find_order", args={"number": number}))
    result = {"number": number, "item": "rain jacket", "state": "on its way"}
    answered = Part(function_response=FunctionResponse(id=f"c{number}", name="find_order", response=result))
    said = [
        ("user", Content(role="user", parts=[Part(text=f"Where is order {number}?")])),
        ("support_desk", Content(role="model", parts=[call])),
        ("support_desk", Content(role="user", parts=[answered])),
        ("support_desk", Content(role="model", parts=[Part(text=f"Your **rain jacket** is on its way: {number}.")])),
    ]
    return [Event(author=author, invocation_id=f"e-{number}", content=content) for author, content in said]


def test_memory_is_flat_over_turns(page_at: Any, new_session: Callable[..., str], store: Path):
    session = new_session("Hello")
    page = page_at(f"#/support_desk/{session}/run")
    cdp = page.context.new_cdp_session(page)

    async def write(first: int, last: int) -> None:
        service = SqliteSessionService(str(store))
        found: Any = await service.get_session(app_name="support_desk", user_id="user", session_id=session)
        for number in range(first, last):
            for event in turn(number):
                await service.append_event(found, event)
        await service.close()

    sizes = []
    with ThreadPoolExecutor(1) as pool:  # the browser's driver has a loop in this thread
        for turns in (50, 100, 150, 200):
            for last in range(turns - 40, turns + 1, 10):
                pool.submit(asyncio.run, write(max(1, last - 10), last)).result()
                expect(page.get_by_text(f"Run {last} of {last}")).to_be_visible()
            cdp.send("HeapProfiler.collectGarbage")
            counters = cdp.send("Memory.getDOMCounters")
            sizes.append((counters["nodes"], cdp.send("Runtime.getHeapUsage")["usedSize"]))
    nodes, bytes_ = zip(*sizes, strict=True)
    assert max(nodes) < nodes[0] * 1.3 + 500
    assert (bytes_[-1] - bytes_[1]) / 100 < 20_000  # a turn of four events, and their spans
