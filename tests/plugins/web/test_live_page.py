"""Speaking with an agent, in a browser with a made-up microphone: what is sent, what is played, what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect


def test_one_speaks_with_an_agent_and_hears_it(page_at: Any, api: Any):
    page = page_at("#/voice_line", permissions=("microphone",))
    asked = page.evaluate("navigator.permissions.query({ name: 'microphone' }).then((one) => one.state)")
    assert asked == "granted"
    page.get_by_role("button", name="Speak with the agent").click()
    line = page.get_by_role("status")
    expect(line).to_contain_text("on the line")
    expect(line).to_have_attribute("data-sent", re.compile("^([3-9]|\\d\\d)"))
    expect(line).to_have_attribute("data-played", "2")
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("I hear you well.")
    page.get_by_role("button", name="End the call").click()
    expect(page.get_by_role("button", name="Speak with the agent")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    session = page.url.split("/")[-1]
    events = api.get(f"/apps/voice_line/users/user/sessions/{session}").json()["events"]
    assert any("I hear you well." in str(one) for one in events)


def test_without_permission_it_says_what_to_do(page_at: Any, api: Any):
    before = len(api.get("/apps/voice_line/users/user/sessions").json())
    page = page_at("#/voice_line")
    page.get_by_role("button", name="Speak with the agent").click()
    expect(page.get_by_role("alert")).to_contain_text("You cannot be heard.")
    expect(page.get_by_role("alert")).to_contain_text("allow it in the page's settings")
    assert len(api.get("/apps/voice_line/users/user/sessions").json()) == before  # nothing is begun


def test_without_a_microphone_it_says_so(page_at: Any):
    page = page_at("#/voice_line")
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia = "
        "() => Promise.reject(new DOMException('none', 'NotFoundError')); }"
    )
    page.get_by_role("button", name="Speak with the agent").click()
    expect(page.get_by_role("alert")).to_contain_text("No microphone was found: connect one")


def test_an_agent_that_is_only_written_to_has_no_microphone(page_at: Any):
    page = page_at("#/workshop")
    expect(page.get_by_label("Send")).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.get_by_role("button", name="Speak with the agent")).to_have_count(0)
