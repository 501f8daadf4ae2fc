"""What is copied from an event runs: the command in a shell, the test in pytest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.web.conftest import AGENTS

expect = pytest.importorskip("playwright.sync_api").expect
MONEY = "The boots from order 17 leak. It's bad: I want my money back."


def copied(page: Any, place: str, button: str) -> str:
    """What a button of an event puts on the clipboard."""
    page.goto(re.sub("#.*", place, page.url))
    page.locator(".detail").get_by_role("button", name=button).click()
    expect(page.locator(".detail").get_by_role("button", name="Copied")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def checked(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The test in a folder with the agents."""
    shutil.copytree(AGENTS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "test_copied.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_copied.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_command_says_a_message_again(page_at: Any, new_session: Callable[..., str], api: Any):
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    session = new_session("Where's order 19?")
    page = page_at(f"#/support_desk/{session}/events/2")
    reads = copied(page, f"#/support_desk/{session}/events/2", "curl")
    read = subprocess.run(reads, shell=True, capture_output=True, check=True)
    assert json.loads(read.stdout)["events"][0]["author"] == "support_desk"
    says = copied(page, f"#/support_desk/{session}/events/1", "curl")
    subprocess.run(says, shell=True, capture_output=True, check=True)
    events = api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["events"]
    assert [part["text"] for one in events if one["author"] == "user" for part in one["content"]["parts"]] == [
        "Where's order 19?"
    ] * 2


def test_a_run_becomes_a_test_that_passes_and_can_fail(
    page_at: Any, new_session: Callable[..., str], api: Any, tmp_path: Path
):
    session = new_session("Where is order 19?", MONEY)
    place = f"/apps/support_desk/users/user/sessions/{session}/questions"
    (question,) = api.get(place).json()
    api.post(f"{place}/{question['id']}", json={"answer": {"confirmed": True}, "follow": True}).raise_for_status()
    last = len(api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["events"])
    page = page_at(f"#/support_desk/{session}/events/{last}")
    text = copied(page, f"#/support_desk/{session}/events/{last}", "pytest")
    assert "You get **129.0 €** back." in text
    done = checked(text, tmp_path / "good")
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = checked(text.replace('You get **129.0 €** back."\n', 'You get nothing."\n'), tmp_path / "bad")
    assert wrong.returncode == 1


def test_a_run_of_a_graph_becomes_a_test(page_at: Any, api: Any, tmp_path: Path):
    session = api.post("/apps/workshop/users/user/sessions", json={}).json()["id"]
    message = {"role": "user", "parts": [{"text": "My boots lose a heel."}]}
    body = {"appName": "workshop", "userId": "user", "sessionId": session, "newMessage": message}
    api.post("/run", json=body).raise_for_status()
    page = page_at(f"#/workshop/{session}/events/3")
    done = checked(copied(page, f"#/workshop/{session}/events/3", "pytest"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_event_becomes_an_evaluation_case(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is order 17?")
    page = page_at(f"#/support_desk/{session}/events/2")
    page.locator(".detail").get_by_role("link", name="Evaluation case").click()
    page.get_by_label("Set, an old one or a new one").fill("events")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page).to_have_url(re.compile("evaluation/events$"))
    assert api.get("/dev/apps/support_desk/eval_sets/events/evals").json() == ["where_is_order_17"]
