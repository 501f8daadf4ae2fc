"""Each panel, in a browser: what it shows of a session, and that its address survives a reload."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
SAID = ("Where is my rain jacket? Order 19.", "The boots from order 17 leak. I want my money back.")


@pytest.fixture(scope="session")
def told(api: Any) -> str:
    """A session that nobody changes: a tool, a transfer and an open approval."""
    id_: str = api.post("/apps/support_desk/users/user/sessions", json={}).json()["id"]
    for text in SAID:
        message = {"role": "user", "parts": [{"text": text}]}
        place = {"appName": "support_desk", "userId": "user", "sessionId": id_}
        api.post("/run", json={**place, "newMessage": message}).raise_for_status()
    return id_


def at(session: str, panel: str) -> str:
    return f"#/support_desk/{session}/{panel}"


def test_the_run_has_its_calls_with_tokens_and_money(page_at: Any, told: str):
    page = page_at(at(told, "run"))
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem")).to_have_count(9)
    expect(tree).to_contain_text("find_order")
    asking = tree.get_by_role("treeitem", name=re.compile("refund 17"))
    expect(asking).to_contain_text("asks")
    expect(asking).to_have_attribute("aria-selected", "true")  # nothing failed, so what waits is selected
    footer = page.get_by_label("Totals of run 2")
    expect(footer).to_contain_text("$0.0")
    expect(footer).to_contain_text("Call 5")
    page.get_by_label("Run before").click()
    expect(page).to_have_url(re.compile("run/1$"))
    page.reload()
    expect(page.get_by_text("Run 1 of 2")).to_be_visible()


def test_a_click_in_the_talk_marks_the_same_call_in_the_tree(page_at: Any, told: str):
    page = page_at(at(told, "run"))
    page.get_by_role("main", name="Conversation").get_by_role("link", name="find_order number 17").click()
    chosen = page.get_by_role("treeitem", selected=True)
    expect(chosen).to_contain_text("find_order")
    expect(page.locator(".insp")).to_contain_text("walking boots")


def test_a_failed_call_stands_first(page_at: Any, new_session: Callable[..., str]):
    page = page_at(at(new_session("Where is order 99?"), "run"))
    expect(page.get_by_role("alert")).to_contain_text("find_order failed")
    expect(page.get_by_role("alert")).to_contain_text("there is no order 99")
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("failed")


def test_the_chain_shows_what_each_step_did(page_at: Any, told: str):
    page = page_at(at(told, "chain/1/steps"))
    steps = page.locator(".step")
    expect(steps.filter(has_text="instructions")).to_be_visible()
    hunk = page.locator(".hunk").filter(has_text="agent_transfer")
    expect(hunk).to_contain_text("You have a list of other agents to transfer to:")
    steps.filter(has_text="identity").click()
    expect(page).to_have_url(re.compile("steps/identity$"))
    page.locator("#step-identity").get_by_role("link", name="Why is it here?").click()
    expect(page.locator(".insp")).to_contain_text("request_chain")


def test_the_final_request_says_who_wrote_a_sentence(page_at: Any, told: str):
    page = page_at(at(told, "chain/1/final"))
    page.get_by_label("Find a sentence").fill("internal name")
    expect(page.locator("mark")).to_have_text("internal name")
    expect(page.locator(".note").last).to_contain_text("identity, newel")
    page.reload()
    expect(page.locator("mark")).to_have_text("internal name")


def test_two_calls_are_compared(page_at: Any, told: str):
    page = page_at(at(told, "chain/2/against/1"))
    expect(page.locator(".verdict")).to_contain_text("All of call 1 stands at the beginning of this call")
    expect(page.locator(".verdict")).to_contain_text("900")
    expect(page.locator(".diff.cache .add").first).to_contain_text("model:")


def test_events_are_filtered_and_shown_whole(page_at: Any, told: str, api: Any):
    page = page_at(at(told, "events/3"))
    grid = page.get_by_role("grid", name="Events")
    total = int(grid.get_attribute("aria-rowcount"))
    assert total == len(api.get(f"/apps/support_desk/users/user/sessions/{told}").json()["events"])
    expect(page.locator(".detail")).to_contain_text('"user:last_order": 19')
    page.get_by_role("button", name=re.compile("^question")).click()
    expect(grid).to_have_attribute("aria-rowcount", "1")
    page.get_by_role("button", name=re.compile("^question")).click()
    page.get_by_label("Find in events").fill("walking boots")
    expect(grid).not_to_have_attribute("aria-rowcount", str(total))
    page.reload()
    expect(page.get_by_label("Find in events")).to_have_value("walking boots")


def test_ten_thousand_events_make_few_rows(page_at: Any, new_session: Callable[..., str]):
    events = [
        {"author": "user", "content": {"parts": [{"text": f"line {n}"}]}, "invocationId": f"e-{n // 100}"}
        for n in range(10_000)
    ]
    session = new_session(events=events)
    page = page_at(at(session, "events/9999"))
    expect(page.get_by_role("grid", name="Events")).to_contain_text("line 9998")
    assert page.locator("tbody tr").count() < 80
    page.locator(".panel .scroll").first.evaluate("node => { node.scrollTop = 100 * 27; }")
    expect(page.get_by_role("grid", name="Events")).to_contain_text("line 100")


def test_the_state_as_of_an_event_and_its_change(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is my rain jacket? Order 19.")
    page = page_at(at(session, "state/3"))
    row = page.get_by_role("row").filter(has_text="orders_seen")
    expect(row).to_contain_text("+ [19]")
    page.goto(page.url.replace("state/3", "state"))
    page.get_by_role("row").filter(has_text="orders_seen").click()
    page.get_by_label("Value of orders_seen, as JSON").fill("[19, 20")
    page.get_by_role("button", name=re.compile("Save as event")).click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    page.get_by_label("Value of orders_seen, as JSON").fill("[19, 20]")
    page.get_by_role("button", name=re.compile("Save as event")).click()
    expect(page.get_by_role("row").filter(has_text="orders_seen")).to_contain_text("[19,20]")
    assert api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["state"]["orders_seen"] == [19, 20]


def test_artifacts_have_versions_and_a_preview(page_at: Any, new_session: Callable[..., str]):
    page = page_at(at(new_session("Write a bill for order 17.", "Write a bill for order 17."), "artifacts"))
    expect(page.locator(".insp")).to_contain_text("bill-17.md")
    expect(page.locator(".insp .prose")).to_contain_text("Order 17")
    expect(page.get_by_role("tablist", name="Version").get_by_role("tab")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_text() == "# Bill\n\nOrder 17\n"


def test_the_graph_has_the_way_of_the_run(page_at: Any, told: str):
    page = page_at(at(told, "graph"))
    expect(page.locator(".graph g.on")).to_have_count(4)
    expect(page.locator(".graph g.off")).to_contain_text("write_bill")
    page.get_by_role("tab", name="All runs").click()
    expect(page.get_by_text("All runs").first).to_be_visible()
    page.get_by_role("button", name="Copy as text").click()
    assert "support_desk: " in page.evaluate("navigator.clipboard.readText()")


def test_sessions_are_found_deleted_and_put_back(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is order 19, said the zebra?")
    before = api.get(f"/apps/support_desk/users/user/sessions/{session}").json()
    page = page_at("#/sessions")
    page.get_by_label("Search text, titles and tools").fill("ZEBRA")
    row = page.get_by_role("row").filter(has_text="zebra")
    expect(page.locator("tbody tr")).to_have_count(1)
    row.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The session is deleted.")).to_be_visible()
    assert api.get(f"/apps/support_desk/users/user/sessions/{session}").status_code == 404
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    after = api.get(f"/apps/support_desk/users/user/sessions/{session}").json()
    assert after["events"] == before["events"]
    assert after["state"] == before["state"]
    with page.expect_download() as download:
        row.get_by_role("button", name="Export").click()
    assert json.loads(Path(download.value.path()).read_text())["id"] == session


def test_sessions_are_found_by_tool_cost_and_failure(page_at: Any, new_session: Callable[..., str]):
    new_session("Where is order 99, asked the yak?")
    page = page_at("#/sessions")
    page.get_by_label("Search text, titles and tools").fill("yak")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="failed").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name="tool", exact=True).click()
    page.keyboard.press("End")
    page.keyboard.type("find_order agent:support cost>0.001")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Search text, titles and tools")).to_have_value(
        "yak failed tool:find_order agent:support cost>0.001"
    )
    expect(page.get_by_role("button", name="cost above")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="cost above").click()
    page.get_by_label("Search text, titles and tools").fill("yak cost>1")
    expect(page.get_by_text("No session says that")).to_be_visible()


def test_the_composition_says_why_a_plugin_is_in(page_at: Any):
    page = page_at("#/composition")
    page.get_by_label("Find a plugin").fill("pairing")
    page.get_by_role("row").filter(has_text="pairing").first.click()
    expect(page.locator(".insp")).to_contain_text("named by the distribution")
    expect(page.locator(".insp")).to_contain_text("request_chain")
    page.reload()
    expect(page.locator(".insp h2")).to_have_text("pairing")


def test_keys_and_an_unknown_panel(page_at: Any, told: str):
    page = page_at(at(told, "keys"))
    expect(page.get_by_text("next, previous row")).to_be_visible()
    page.goto(page.url.replace("keys", "nothing"))
    expect(page.get_by_text("There is no such panel")).to_be_visible()


def test_the_memory_is_searched(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is my rain jacket? Order 19.")
    api.patch("/apps/support_desk/users/user/memory", json={"sessionId": session}).raise_for_status()
    page = page_at(at(session, "panel/memory"))
    page.get_by_label("Search the memory of user").fill("jacket")
    expect(page.locator(".what2").first).to_contain_text("rain jacket")
    page.get_by_label("Search the memory of user").fill("submarine")
    expect(page.get_by_text("Nothing is remembered of that")).to_be_visible()


def test_a_fork_stands_beside_its_origin(page_at: Any, new_session: Callable[..., str]):
    first, second = new_session("Hello", "Where is order 19?"), new_session("Hello", "Where is order 17?")
    page = page_at(at(first, f"panel/compare/{second}"))
    expect(page.get_by_text("Here they begin to differ.")).to_be_visible()
    rows = page.locator(".panel tbody tr")
    marked = rows.evaluate_all("rows => rows.findIndex(row => row.textContent.includes('begin to differ'))")
    assert marked == 2  # the greeting and its answer are the same
    page.goto(page.url.replace(second, first))
    expect(page.get_by_text("They are the same.")).to_be_visible()


@pytest.fixture(scope="session")
def mended(api: Any) -> str:
    """A streamed run through a graph whose model was busy at first."""
    id_: str = api.post("/apps/workshop/users/user/sessions", json={}).json()["id"]
    message = {"role": "user", "parts": [{"text": "My boots lose a heel."}]}
    place = {"appName": "workshop", "userId": "user", "sessionId": id_}
    api.post("/run_sse", json={**place, "newMessage": message, "streaming": True}).raise_for_status()
    return id_


def test_tries_and_the_first_token_of_a_call(page_at: Any, mended: str):
    page = page_at(f"#/workshop/{mended}/run")
    tree = page.get_by_role("tree")
    expect(tree.get_by_role("treeitem", name=re.compile("2 tries"))).to_be_visible()
    expect(page.locator(".panel .head")).to_contain_text("asked again once")
    tree.get_by_role("treeitem", name=re.compile("2 tries")).click()
    tries = page.locator(".tries")
    expect(tries).to_contain_text("too many requests")
    expect(tries).to_contain_text("model_retries asked again")
    expect(page.locator(".insp")).to_contain_text(re.compile("first token.*after \\d"))
    footer = page.get_by_label("Totals of run 1")
    expect(footer).to_contain_text("Call 1: 2,400 tokens, 1 % of 200,000")
    page.reload()
    expect(page.locator(".tries")).to_contain_text("too many requests")


def test_a_failed_tool_names_its_line_in_the_source(page_at: Any, new_session: Callable[..., str]):
    page = page_at(at(new_session("Where is order 99?"), "run"))
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"agent\.py:\d+"))
    marked = page.locator(".insp .diff.src .del")
    expect(marked).to_contain_text("raise LookupError")


def test_the_graph_of_nodes_has_their_runs_and_time(page_at: Any, mended: str):
    page = page_at(f"#/workshop/{mended}/graph")
    graph = page.locator(".graph")
    expect(graph.locator("g.on").filter(has_text="measure")).to_contain_text(re.compile("1 run, "))
    expect(graph.locator("g.on").filter(has_text="cobbler")).to_contain_text("1 model call, 2,400 in, 12 out")
    expect(graph.locator("g.on").filter(has_text="cobbler")).to_contain_text("$0.0050")
    expect(graph.locator("path.on")).to_have_count(1)


def test_a_run_that_another_process_made_says_what_is_not_known(page_at: Any, new_session: Callable[..., str]):
    call = {"id": "c1", "name": "find_order", "args": {"number": 99}}
    answer = {"id": "c1", "name": "find_order", "response": {"error": "LookupError: there is no order 99"}}
    events = [
        {"author": "user", "invocationId": "e1", "content": {"role": "user", "parts": [{"text": "Hi"}]}},
        {"author": "d", "invocationId": "e1", "content": {"role": "model", "parts": [{"functionCall": call}]}},
        {"author": "d", "invocationId": "e1", "content": {"role": "user", "parts": [{"functionResponse": answer}]}},
    ]
    page = page_at(at(new_session(events=events), "run"))
    expect(page.get_by_text("Read from the stored events")).to_be_visible()
    expect(page.locator(".insp")).to_contain_text("Where it failed is not stored")


def long_events() -> list[dict[str, Any]]:
    """26 runs of a hundred events; a message with `needle` begins each, and a model call for a cent ends it."""
    events: list[dict[str, Any]] = []
    for run in range(26):
        where = {"invocationId": f"e-{run}"}
        events.append({"author": "user", "content": {"role": "user", "parts": [{"text": f"needle {run}"}]}, **where})
        events += [
            {"author": "support_desk", "content": {"role": "model", "parts": [{"text": f"line {run}-{n}"}]}, **where}
            for n in range(98)
        ]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110, "cost": 0.01}
        said = {"role": "model", "parts": [{"text": f"the end of {run}"}]}
        events.append({"author": "support_desk", "content": said, "usageMetadata": usage, **where})
    return events


EARLIER = re.compile(r"/events\?after=\d+&limit=\d+")


def test_a_long_session_shows_its_end_first_and_counts_when_all_is_there(page_at: Any, new_session: Any):
    session = new_session(events=long_events())
    page = page_at()
    held: list[Any] | None = []
    page.route(EARLIER, lambda route: route.continue_() if held is None else held.append(route))
    page.evaluate("(hash) => { location.hash = hash; }", f"#/support_desk/{session}/events/2600")
    grid = page.get_by_role("grid", name="Events")
    expect(grid.locator("tr[aria-rowindex='2600']")).to_contain_text("the end of 25")
    talk = page.get_by_role("main", name="Conversation")
    expect(talk).to_contain_text("the end of 25")
    expect(page.get_by_role("tab", name="Events 2600")).to_be_visible()
    # What counts over all events says nothing yet, rather than something wrong.
    expect(talk.get_by_role("link", name=re.compile("Run"))).to_have_count(0)
    expect(page.locator(".filters .chip").first).to_have_text(re.compile(r"^[a-z]+\s*$"))
    page.locator(".rows").evaluate("(node) => { node.scrollTop = 0; }")
    expect(grid.locator("tr[aria-rowindex='1']")).to_contain_text("not read yet")
    page.get_by_label("Find in events").fill("needle")
    expect(page.get_by_text("Reading the earlier events: 2,400 to go.")).to_be_visible()
    page.get_by_role("tab", name="Run").click()
    expect(page.get_by_text("Reading the earlier events: 2,400 to go.")).to_be_visible()

    while not held:  # they are asked for when the page is idle
        page.wait_for_timeout(20)
    kept, held = held, None
    for one in kept:
        one.continue_()
    expect(page.get_by_text("Run 26 of 26")).to_be_visible()
    expect(page.get_by_label("Totals of run 26")).to_contain_text("$0.0100")
    expect(talk.get_by_role("link", name="Run 26")).to_be_visible()
    page.get_by_role("tab", name="Events").click()
    expect(page.locator(".filters .chip", has_text="message")).to_have_text("message 26")
    expect(page.locator(".filters .chip", has_text="text")).to_have_text("text 2,574")
    page.get_by_label("Find in events").fill("needle")
    expect(grid).to_have_attribute("aria-rowcount", "26")
    expect(grid.locator("tbody tr").first).to_contain_text("needle 0")


def test_earlier_events_that_do_not_come_are_asked_for_again(page_at: Any, new_session: Any):
    session = new_session(events=long_events())
    page = page_at(allowed="net::ERR_FAILED")
    page.route(EARLIER, lambda route: route.abort())
    page.evaluate("(hash) => { location.hash = hash; }", f"#/support_desk/{session}/run")
    expect(page.get_by_text("Reading the earlier events: 2,400 to go.")).to_be_visible()
    expect(page.get_by_text("not connected")).to_be_visible()
    page.unroute(EARLIER)
    expect(page.get_by_text("Run 26 of 26")).to_be_visible()
