"""What somebody finds who sees the page for the first time: by its words alone, in few clicks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
MOST_CLICKS = 3


class Reader:
    """Somebody who clicks what is called so; `clicks` counts."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0

    def click(self, found: Any) -> None:
        """Click what is in sight."""
        found.click()
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS


@pytest.fixture
def reader(page_at: Any, new_session: Callable[..., str]) -> Reader:
    """In front of a conversation in which a tool has failed."""
    page = page_at(f"#/support_desk/{new_session('Where is order 99?')}")
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("I cannot find order 99.")
    return Reader(page)


def test_why_a_tool_failed(reader: Reader):
    talk = reader.page.get_by_role("main", name="Conversation")
    expect(talk).to_contain_text("LookupError: there is no order 99")  # without a click: that it failed, and why
    expect(talk.locator(".line.bad")).to_have_css("color", "rgb(172, 32, 22)")
    reader.click(talk.get_by_role("link", name=re.compile("find_order.*failed")))
    panel = reader.page.get_by_label("Run", exact=True)
    expect(panel.get_by_role("alert")).to_contain_text("find_order failed: LookupError: there is no order 99")
    expect(panel).to_contain_text(re.compile(r"support_desk/agent\.py:\d+ in find_order"))
    expect(panel.locator(".src .del")).to_contain_text('raise LookupError(f"there is no order {number}")')
    expect(panel).to_contain_text('"number": 99')
    assert reader.clicks == 1


def test_which_events_failed(reader: Reader):
    reader.click(reader.page.get_by_role("tab", name=re.compile("Events")))
    reader.click(reader.page.get_by_role("button", name="failed 1"))
    grid = reader.page.get_by_role("grid", name="Events")
    expect(grid).to_have_attribute("aria-rowcount", "1")
    expect(grid.locator("tbody tr")).to_contain_text("LookupError")


def test_what_a_turn_cost(reader: Reader):
    talk = reader.page.get_by_role("main", name="Conversation")
    shown = talk.locator(".sum .money")
    expect(shown).to_have_text(re.compile(r"^\$0\.\d{4}$"))  # without a click: what it cost
    footer = reader.page.get_by_label("Totals of run 1")
    expect(footer.locator(".money")).to_have_text(shown.inner_text())
    for part in ("in", "cached", "written", "out", "reasoning"):
        expect(footer).to_contain_text(re.compile(rf"{part} [\d,]+"))
    rows = reader.page.get_by_role("treeitem", name=re.compile("call [12]"))
    costs = [float(row.locator(".num").nth(2).inner_text().lstrip("$")) for row in rows.all()]
    assert len(costs) == 2
    assert sum(costs) == pytest.approx(float(shown.inner_text().lstrip("$")), abs=2e-4)
    assert reader.clicks == 0


def test_where_a_sentence_of_the_prompt_comes_from(reader: Reader):
    reader.click(reader.page.get_by_role("treeitem", name=re.compile("call 2")))
    reader.click(reader.page.get_by_role("link", name="Show the prompt"))
    sentence = reader.page.locator(".blame > div", has_text="Your internal name is")
    expect(sentence).to_have_attribute("title", re.compile("^identity, newel "))
    reader.click(reader.page.locator(".blame").get_by_role("button", name="identity"))
    panel = reader.page.get_by_label("Chain", exact=True)
    expect(panel).to_contain_text(re.compile(r"identity, newel [\d.]+, wrote it\. Why is it here\?"))
    expect(sentence).to_have_class(re.compile("is-sel"))


def test_a_question_is_not_a_failure_until_it_is_one(page_at: Any, new_session: Callable[..., str]):
    page = page_at(f"#/support_desk/{new_session('I want my money back for order 17.')}/events")
    grid = page.get_by_role("grid", name="Events")
    expect(grid).to_contain_text("question")
    expect(grid.get_by_text("failed")).to_have_count(0)
    page.get_by_role("button", name="Reject").click()
    expect(grid.get_by_text("failed")).to_have_count(1)


def test_keys_are_listed_and_act(page_at: Any, new_session: Callable[..., str]):
    session = new_session("Hello", "Where is order 19?")
    page = page_at(f"#/support_desk/{session}/run")
    expect(page.get_by_text("Run 2 of 2")).to_be_visible()
    page.keyboard.press("[")
    expect(page.get_by_text("Run 1 of 2")).to_be_visible()
    page.keyboard.press("]")
    expect(page.get_by_text("Run 2 of 2")).to_be_visible()
    page.keyboard.press("y")
    page.wait_for_function("async () => (await navigator.clipboard.readText()) === location.href", timeout=60_000)
    page.keyboard.press("?")
    expect(page.get_by_text("run, call or event before, after")).to_be_visible()
    page.keyboard.press("f")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fork of")
    page.goto(page.url.split("#")[0])
    page.get_by_role("link", name="Keys").click()
    expect(page).to_have_url(re.compile("#/keys$"))
    expect(page.get_by_text("run, call or event before, after")).to_be_visible()


def test_a_phone_has_a_way_back_and_shows_the_keys(page_at: Any, new_session: Callable[..., str]):
    session = new_session("Hello")
    page = page_at(f"#/support_desk/{session}/events/2", width=390)
    expect(page.locator(".detail")).to_contain_text('"author": "support_desk"')
    page.get_by_role("link", name="All events").click()
    expect(page.get_by_role("grid", name="Events").locator("tbody tr")).to_have_count(2)
    page.goto(f"{page.url.split('#')[0]}#/support_desk/{session}/keys")
    expect(page.locator(".dl .key").first).to_be_visible()


def test_a_message_that_is_written_before_the_agents_are_known_is_sent(page_at: Any):
    page = page_at()
    held: list[Any] | None = []
    listed = re.compile("/list-apps")
    page.route(listed, lambda route: route.continue_() if held is None else held.append(route))
    page.reload()
    page.get_by_label("Write a message").fill("Where is order 19?")
    page.keyboard.press("Enter")
    while len(held) < 2:  # the page's own, and that of the message
        page.wait_for_timeout(20)
    kept, held = held, None
    for one in kept:
        one.continue_()
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("Your rain jacket is on its way")
