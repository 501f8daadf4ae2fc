"""A conversation in a browser: by keyboard, with approvals, from two pages and two processes, in all widths."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from newel.sessions import SqliteSessionService
from newel_kernel import Event
from newel_types import Content, Part

expect = pytest.importorskip("playwright.sync_api").expect


def test_a_whole_conversation_with_an_approval_by_keyboard_alone(page_at: Any, api: Any):
    page = page_at()
    expect(page.get_by_text("Talk with support_desk")).to_be_visible()
    page.keyboard.press("c")
    page.keyboard.type("I want my money back for order 17.")
    page.keyboard.press("Enter")
    card = page.get_by_label("refunds asks for approval")
    expect(card).to_contain_text("129")
    page.keyboard.press("Escape")
    for _ in range(60):
        if page.evaluate("document.activeElement.textContent") == "Approve":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You get 129.0 € back.")).to_be_visible()
    expect(page.get_by_text("Approved by user")).to_be_visible()
    expect(card).to_have_count(0)
    session = page.url.split("/")[-1]
    assert api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["state"]["user:refunds"]["17"] == 129.0


def test_an_answer_is_drawn_as_markdown(page_at: Any):
    page = page_at()
    page.get_by_label("Write a message").fill("What can you do?")
    page.get_by_label("Send").click()
    talk = page.get_by_role("main", name="Conversation")
    expect(talk.locator("pre code")).to_contain_text("def greet")
    expect(talk.locator("table")).to_contain_text("walking boots")
    expect(talk.locator("li b")).to_have_text("order")
    expect(talk.get_by_role("link", name="refunds")).to_have_attribute("rel", re.compile("noopener"))


def test_a_run_is_stopped_with_escape(page_at: Any, api: Any):
    page = page_at(allowed="404")  # a run that ended by itself meanwhile is not found
    page.get_by_label("Write a message").fill("Take it slow.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")  # leaves the field
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def test_a_failed_model_is_told_in_the_talk_and_in_the_list(page_at: Any):
    page = page_at()
    page.get_by_label("Write a message").fill("Fail, now.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main", name="Conversation").get_by_text("RESOURCE_EXHAUSTED")).to_be_visible()
    expect(page.locator(".ses[aria-current]")).to_contain_text("failed")


def test_a_question_that_two_pages_show_is_answered_once(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("I want my money back for order 17.")
    first, second = page_at(f"#/support_desk/{session}"), page_at("#/questions")
    ours = second.locator(".card").filter(has=second.locator(f'a[href*="{session}"]'))
    expect(ours).to_be_visible()
    first.get_by_role("button", name="Reject").click()
    expect(first.get_by_text("A colleague said no.")).to_be_visible()
    expect(ours).to_have_count(0)
    events = api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["events"]
    answers = [one for one in events if one["author"] == "user" and "functionResponse" in str(one)]
    assert len(answers) == 1


def test_an_answer_that_came_too_late_is_told(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("I want my money back for order 17.")
    page = page_at(f"#/support_desk/{session}", allowed="404")
    place = f"/apps/support_desk/users/user/sessions/{session}/questions"
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.route("**/*", lambda route: route.abort() if "/events" in route.request.url else route.continue_())
    (question,) = api.get(place).json()
    api.post(f"{place}/{question['id']}", json={"answer": {"confirmed": False}}).raise_for_status()
    page.unroute("**/*")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def test_what_another_process_stores_is_seen_within_a_second(
    page_at: Any, new_session: Callable[..., str], store: Path
):
    session = new_session("Hello")
    page = page_at(f"#/support_desk/{session}")
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("Here is what I can do")

    async def write() -> None:
        service = SqliteSessionService(str(store))
        found: Any = await service.get_session(app_name="support_desk", user_id="user", session_id=session)
        content = Content(role="model", parts=[Part(text="Said elsewhere.")])
        await service.append_event(found, Event(author="support_desk", invocation_id="e-other", content=content))
        await service.close()

    with ThreadPoolExecutor() as pool:  # the browser's driver has a loop in this thread
        pool.submit(asyncio.run, write()).result()
    expect(page.get_by_text("Said elsewhere.", exact=True).first).to_be_visible()


def test_a_fork_has_the_events_up_to_there(page_at: Any, new_session: Callable[..., str]):
    session = new_session("Hello", "Where is order 19?")
    page = page_at(f"#/support_desk/{session}")
    page.locator(".turn").first.get_by_role("button", name="Fork").click()
    expect(page.locator("h1")).to_contain_text("Fork of “Hello”")
    expect(page.locator(".turn")).to_have_count(1)


def test_a_message_is_written_again_in_a_session_of_its_own(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Hello", "Where is order 99?")
    page = page_at(f"#/support_desk/{session}")
    page.locator(".turn").last.get_by_role("button", name="Edit").click()
    expect(page.locator("#write")).to_have_value("Where is order 99?")
    page.locator("#write").fill("Where is order 19?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your rain jacket is on its way").first).to_be_visible()
    assert session not in page.url
    assert "99" not in page.locator(".talk").inner_text()
    assert len(api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["events"]) == 6


def test_a_file_goes_along(page_at: Any, api: Any, tmp_path: Path):
    file = tmp_path / "boot.png"
    file.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000"))
    page = page_at()
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("boot.png")).to_be_visible()
    page.get_by_label("Write a message").fill("Look at this.")
    page.get_by_label("Send").click()
    expect(page.get_by_role("main", name="Conversation").get_by_alt_text("boot.png")).to_be_visible()


ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def test_an_attackers_session_runs_nothing_and_stays_usable(page_at: Any, new_session: Callable[..., str], api: Any):
    call = {"id": "c1", "name": f"pay\u202e{ATTACK}", "args": {f"{ATTACK}": f"\u202eexe.{ATTACK}"}}
    answer = {"id": "c1", "name": call["name"], "response": {"error": ATTACK}}
    text = f"{ATTACK} [click](javascript:alert(3)) ![x](http://127.0.0.1:9/x.png) \u202egnp.exe <svg onload=alert(4)>"
    events = [
        {"author": "user", "invocationId": "e1", "content": {"role": "user", "parts": [{"text": text}]}},
        {
            "author": f"agent{ATTACK}",
            "invocationId": "e1",
            "content": {"role": "model", "parts": [{"text": text}, {"functionCall": call}]},
        },
        {
            "author": f"agent{ATTACK}",
            "invocationId": "e1",
            "content": {"role": "user", "parts": [{"functionResponse": answer}]},
            "actions": {"stateDelta": {ATTACK: ATTACK}},
        },
        {
            "author": f"agent{ATTACK}",
            "invocationId": "e1",
            "content": {"role": "model", "parts": [{"text": "x" * 5_000_000}]},
        },
        {
            "author": "user",
            "invocationId": "e1",
            "content": {
                "role": "user",
                "parts": [
                    {
                        "inlineData": {
                            "mimeType": "image/svg+xml",
                            "displayName": ATTACK,
                            "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoNSk+",
                        }
                    }
                ],
            },
        },
    ]
    session = new_session(events=events)
    place = f"#/support_desk/{session}"
    file = {"inlineData": {"mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoNSk+PC9zdmc+"}}
    name = "<img src=x onerror=alert(6)>.svg"
    saved = {"filename": name, "artifact": file}
    api.post(f"/apps/support_desk/users/user/sessions/{session}/artifacts", json=saved).raise_for_status()
    page = page_at(f"{place}/run")
    talk = page.get_by_role("main", name="Conversation")
    for panel in ("run", "events/2", "events/4", "state", "graph", "artifacts", f"artifacts/{quote(name)}/0"):
        page.evaluate("(place) => { location.hash = place; }", f"{place}/{panel}")
        expect(talk).to_contain_text("onerror=alert(1)")
        expect(talk).to_contain_text("U+202E")
        if panel.startswith("artifacts"):
            expect(page.locator(".panel > section")).to_contain_text(name)
        assert page.locator("script:not([src])").count() == 0
        assert page.locator("#page img[src=x], #page a[href^=javascript]").count() == 0
    page.get_by_label("Write a message").fill("What can you do?")
    page.keyboard.press("Enter")
    expect(talk.get_by_role("link", name="refunds")).to_be_visible()


@pytest.mark.parametrize(
    "panel",
    [
        "run",
        "chain/2/steps",
        "chain/2/final",
        "chain/2/against/1",
        "events/3",
        "state",
        "artifacts",
        "panel/memory",
        "graph",
        "panel/compare",
    ],
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page_at: Any, new_session: Callable[..., str], panel: str, theme: str):
    session = new_session("Where is my rain jacket? Order 19.", "I want my money back for order 17.")
    page = page_at(f"#/support_desk/{session}/{panel}", theme=theme)
    expect(page.locator(".panel > section")).to_be_visible()
    page.wait_for_timeout(400)
    assert serious_findings(page) == []


def serious_findings(page: Any) -> list[tuple[str, list[str]]]:
    """What axe-core finds that is serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
        for one in axe.Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_tries_and_nodes(page_at: Any, api: Any, theme: str):
    session = api.post("/apps/workshop/users/user/sessions", json={}).json()["id"]
    message = {"role": "user", "parts": [{"text": "My boots lose a heel."}]}
    place = {"appName": "workshop", "userId": "user", "sessionId": session}
    api.post("/run", json={**place, "newMessage": message}).raise_for_status()
    page = page_at(f"#/workshop/{session}/run", theme=theme)
    tries = page.get_by_role("treeitem").filter(has_text="2 tries")
    expect(tries.first).to_be_visible()
    tries.first.click()
    assert serious_findings(page) == []
    page.evaluate("(place) => { location.hash = place; }", f"#/workshop/{session}/graph")
    expect(page.locator(".graph text").filter(has_text="cobbler").first).to_be_visible()
    assert serious_findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_one_speaks(page_at: Any, theme: str):
    page = page_at("#/voice_line", permissions=("microphone",), theme=theme)
    page.get_by_role("button", name="Speak with the agent").click()
    expect(page.get_by_role("status")).to_contain_text("on the line")
    assert serious_findings(page) == []
    page.get_by_role("button", name="End the call").click()
    expect(page.get_by_role("button", name="Speak with the agent")).to_be_visible()


@pytest.mark.parametrize(
    "panel",
    ["", "talk", "run", "chain/2/steps", "chain/2/final", "chain/2/against/1", "events", "state", "artifacts", "graph"],
)
def test_a_phone_shows_it_without_scrolling_sideways(page_at: Any, new_session: Callable[..., str], panel: str):
    session = new_session("Where is my rain jacket? Order 19.", "What can you do?")
    page = page_at(f"#/support_desk/{session}/{panel}", width=390)
    expect(page.get_by_role("tab", name="Conversation")).to_be_visible()
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if panel in ("", "talk"):
        page.get_by_label("Write a message").fill("Where is order 19?")
        page.get_by_label("Send").click()
        expect(page.get_by_text("is on its way").last).to_be_visible()


def test_a_server_that_ended_is_told(page_at: Any):
    page = page_at(allowed="ERR_")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.route("**/*", lambda route: route.abort())
    page.get_by_label("Write a message").fill("Hello")
    page.keyboard.press("Enter")
    expect(page.get_by_text("not connected")).to_be_visible()


def test_the_token_of_the_address_lets_the_page_in(chromium: Any, tmp_path: Path):
    from tests.plugins.web.conftest import AGENTS, serving

    with serving(str(AGENTS), "--sessions", "memory:", cwd=tmp_path) as address:
        page = chromium.new_page()
        page.goto(address)
        expect(page.get_by_text("Talk with support_desk")).to_be_visible()
        assert "token" not in page.url
        page.close()
