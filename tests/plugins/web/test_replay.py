"""Replay, import and titles in the page: what is edited, asked again, kept, taken in and renamed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

expect = pytest.importorskip("playwright.sync_api").expect
USER = "/apps/support_desk/users/user/sessions"
Make = Callable[..., str]


#: The words that are marked in both answers, up to the fifth.
MARKED = """() => Object.fromEntries(['gone', 'added'].map(
  (name) => [name, [...CSS.highlights.get(name)].slice(0, 5).map(String)]))"""


def links(session: str, panel: str) -> str:
    return f"#/support_desk/{session}/{panel}"


def test_both_answers_stand_side_by_side_and_become_a_fork(page_at: Any, new_session: Make, api: httpx.Client):
    session = new_session("Where is my rain jacket? Order 19.")
    before = api.get(f"{USER}/{session}").json()
    page = page_at(links(session, "replay/2"))
    result = page.get_by_label("Message 3, tool find_order")
    result.fill('{"item": "umbrella", "state": "lost"')
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("The result in message 3 is not JSON.")).to_be_visible()
    result.fill('{"item": "umbrella", "state": "lost"}')
    page.get_by_label("Instruction").fill("You are terse.")
    expect(page.get_by_text("1 change", exact=True)).to_be_visible()
    page.keyboard.press("Control+Enter")
    answers = page.locator(".ans")
    expect(answers.nth(0)).to_contain_text("Your rain jacket is on its way")
    expect(answers.nth(1)).to_contain_text("Your umbrella is lost.")
    expect(page.get_by_text("is not in the fork: 1 message, the instruction.")).to_be_visible()
    assert page.evaluate(MARKED) == {"gone": ["rain", "jacket", "on", "its", "way,"], "added": ["umbrella", "lost."]}
    expect(page.get_by_text(re.compile(r"1 replay of this call, \$0\.00"))).to_be_visible()
    assert api.get(f"{USER}/{session}").json() == before  # nothing is stored
    page.get_by_role("button", name="Save as fork").click()
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("Your umbrella is lost.")
    fork = api.get(f"{USER}/{page.url.split('/')[-1]}").json()
    assert [one["id"] for one in fork["events"][:3]] == [one["id"] for one in before["events"][:3]]
    assert fork["events"][3]["content"]["parts"] == [{"text": "Your umbrella is lost."}]
    assert fork["state"]["orders_seen"] == [19]
    assert fork["state"]["__session_metadata__"]["displayName"].startswith("Fork of")


def test_a_recording_answers_only_the_same_request(page_at: Any, new_session: Make):
    page = page_at(links(new_session("Where is my rain jacket? Order 19."), "replay/2?with=recording"), allowed="409")
    expect(page.get_by_text("costs nothing")).to_be_visible()
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".ans").nth(1)).to_contain_text("Your rain jacket is on its way")
    page.get_by_label("Instruction").fill("You are terse.")
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("No recorded call has this request: ask the model")).to_be_visible()
    page.reload()
    expect(page.get_by_role("tab", name="From recording")).to_have_attribute("aria-selected", "true")


def test_a_replay_becomes_a_case(page_at: Any, new_session: Make):
    page = page_at(links(new_session("Where is my rain jacket? Order 19."), "replay/2"))
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("button", name="Save as evaluation case").click()
    expect(page).to_have_url(re.compile(r"#/evaluation\?add="))


def test_a_call_of_another_process_says_that_it_was_not_recorded(page_at: Any, new_session: Make):
    usage = {"promptTokenCount": 1}
    answer = {"author": "support_desk", "content": {"role": "model", "parts": [{"text": "x"}]}, "usageMetadata": usage}
    page = page_at(links(new_session(events=[answer]), "replay"))
    expect(page.get_by_role("heading", name="The steps of this call were not recorded")).to_be_visible()


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"tools": ["nope"]}, 422, "declares no function 'nope'"),
        ({"messages": [{"place": 99, "text": "x"}]}, 422, "there is no message 99"),
        ({"messages": [{"place": 0, "response": {}}]}, 422, "message 0 has no result of a tool"),
        ({"model": "nope:1"}, 422, "unknown model 'nope:1'"),
        ({"source": "elsewhere"}, 422, "'model' or 'recording'"),
    ],
)
def test_what_does_not_fit_is_refused(api: httpx.Client, new_session: Make, body: Any, status: int, says: str):
    place = f"/dev{USER}/{new_session('Hello')}/model-calls"
    (call,) = api.get(place).json()
    refused = api.post(f"{place}/{call['number']}/replay", json=body)
    assert (refused.status_code, says in refused.text) == (status, True), refused.text


def test_a_replay_is_counted_and_a_call_of_another_session_is_not_found(api: httpx.Client, new_session: Make):
    place = f"/dev{USER}/{new_session('Hello', 'Where is order 19?')}/model-calls"
    first, second, third = api.get(place).json()
    later = api.get(place, params={"after": second["number"]}).json()
    assert [one["number"] for one in later] == [third["number"]]
    removed = api.post(
        f"{place}/{third['number']}/replay", json={"messages": [{"place": 0, "removed": True}], "tools": []}
    ).json()
    again = api.post(f"{place}/{third['number']}/replay", json={}).json()
    assert (removed["replays"], again["replays"]) == (1, 2)
    assert again["spent"] == pytest.approx(removed["cost"] + again["cost"])
    assert api.get(place).json()[-1]["number"] == third["number"]  # a replay is no call of the run
    elsewhere = f"/dev{USER}/{new_session('Hello')}/model-calls/{first['number']}/replay"
    assert api.post(elsewhere, json={}).status_code == 404


def test_a_session_is_exported_imported_and_renamed(page_at: Any, new_session: Make, api: httpx.Client, tmp_path: Path):
    session = new_session("Where is order 19, said the okapi?")
    page = page_at("#/sessions", allowed="422")
    page.get_by_label("Search text, titles and tools").fill("okapi")
    with page.expect_download() as download:
        page.get_by_role("row").filter(has_text="okapi").get_by_role("button", name="Export").click()
    saved = json.loads(Path(download.value.path()).read_text())
    file = tmp_path / "copy.json"
    file.write_text(json.dumps({**saved, "id": f"{session}-copy", "userId": "somebody"}))
    page.get_by_role("button", name="Import").click()
    page.get_by_label("Or paste the JSON").fill("{}")
    page.locator("form").get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("it is not an exported session")
    page.get_by_label("File").set_input_files(file)
    page.locator("form").get_by_role("button", name="Import").click()
    expect(page.get_by_text(re.compile("is added, with 4 events"))).to_be_visible()
    page.locator("form").get_by_role("button", name="Import").click()
    expect(page.get_by_text("was already here")).to_be_visible()
    page.get_by_role("link", name="The session").click()
    page.get_by_role("button", name="Change the title").click()
    page.get_by_label("Title of the session").fill("The okapi's order")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The okapi's order")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="The okapi's order")).to_be_visible()
    copy = api.get(f"{USER}/{session}-copy").json()
    assert [one["id"] for one in copy["events"]][:4] == [one["id"] for one in saved["events"]]
    assert copy["state"]["orders_seen"] == [19]
    expect(page.locator(".side").get_by_text("The okapi's order")).to_be_visible()


def test_a_fork_has_the_state_that_no_event_wrote(api: httpx.Client):
    made = api.post(
        USER,
        json={
            "state": {"plan": "gold", "seen": 1},
            "events": [
                {"author": "user", "content": {"parts": [{"text": "one"}]}, "actions": {"stateDelta": {"seen": 2}}},
                {
                    "author": "user",
                    "content": {"parts": [{"text": "two"}]},
                    "actions": {"stateDelta": {"seen": 3, "new": 1}},
                },
            ],
        },
    ).json()
    fork = api.post(USER, json={"forkOf": {"sessionId": made["id"], "events": 1}, "state": {"title": "a"}}).json()
    own = {name: value for name, value in fork["state"].items() if not name.startswith("user:")}
    assert own == {"plan": "gold", "seen": 2, "title": "a"}
    assert [one["id"] for one in fork["events"][:1]] == [made["events"][0]["id"]]
    assert api.post(USER, json={"forkOf": {"sessionId": "none"}}).status_code == 404
    assert api.post(USER, json={"forkOf": {"sessionId": made["id"], "events": -1}}).status_code == 422


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["replay/2", "#/sessions"])
def test_axe_finds_nothing_serious(page_at: Any, new_session: Make, place: str, theme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    session = new_session("Where is my rain jacket? Order 19.")
    page = page_at(place if place.startswith("#") else links(session, place), theme=theme)
    if place.startswith("#"):
        page.get_by_role("button", name="Import").click()
    else:
        page.get_by_role("button", name="Run again").click()
        expect(page.get_by_role("button", name="Save as fork")).to_be_visible()
    found = axe.Axe().run(page).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"][:160]) for one in found if one["impact"] in ("serious", "critical")
    ] == []
