"""The evaluation view and ratings, in a browser: a session becomes a case, runs are compared, answers are rated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
METRICS = [
    {"metricName": "tool_trajectory_avg_score", "threshold": 1},
    {"metricName": "response_match_score", "threshold": 0.8},
]


def test_evaluation_without_a_set_says_how_to_make_one(page_at: Any, api: Any):
    session = api.post("/apps/workshop/users/user/sessions", json={}).json()["id"]
    page = page_at(f"#/workshop/{session}")
    expect(page.get_by_role("tablist", name="Panels")).to_be_visible()
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text("No evaluation set yet")).to_be_visible()


def test_a_session_becomes_a_case_and_runs_several_times(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is my rain jacket? Order 19.", "Where is order 99?")
    page = page_at(f"#/support_desk/{session}")
    expect(page.locator("h1")).to_contain_text("rain jacket")
    page.get_by_role("link", name="Evaluation").click()
    page.get_by_role("button", name="Add this session").click()
    expect(page).to_have_url(re.compile(session))
    page.get_by_label("Name of the case").fill("jacket")
    page.get_by_label("Set, an old one or a new one").fill("grown")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page).to_have_url(re.compile("evaluation/grown$"))
    page.get_by_label("How often each case runs").fill("3")
    page.get_by_role("button", name="Run", exact=True).click()
    row = page.get_by_role("row").filter(has_text="jacket")
    expect(row).to_contain_text("3 of 3")
    expect(page.get_by_role("row").filter(has_text="95 % range")).to_contain_text("one case only, 3 runs each")
    expect(page.get_by_role("row").filter(has_text="cost")).to_contain_text("$0.0")
    expect(page.locator(".cmp").first).to_contain_text("find_order(number 19)")
    expect(page.locator(".cmp").last).to_contain_text("I cannot find order 99")
    runs = api.get("/dev/apps/support_desk/eval-sets/grown/runs").json()
    assert [(one["repeats"], one["passed"], one["cases"]) for one in runs["runs"]] == [(3, 1, 1)]
    listed = api.get("/dev/apps/support_desk/users/user/session-summaries?limit=500").json()["sessions"]
    assert [one["id"] for one in listed if one["id"].startswith("adk-eval")] == []  # runs of cases are no talks
    page.reload()
    expect(row).to_contain_text("3 of 3")


def test_runs_are_compared_and_a_case_shows_expected_beside_actual(
    page_at: Any, new_session: Callable[..., str], api: Any
):
    sets = "/dev/apps/support_desk/eval-sets"
    api.post(sets, json={"evalSet": {"eval_set_id": "moved", "eval_cases": []}}).raise_for_status()
    for name, number in (("jacket", 19), ("boots", 17)):
        body = {"evalId": name, "sessionId": new_session(f"Where is order {number}?"), "userId": "user"}
        api.post(f"{sets}/moved/add-session", json=body).raise_for_status()
    api.post(f"{sets}/moved/run", json={"evalMetrics": METRICS}).raise_for_status()
    case = api.get(f"{sets}/moved/eval-cases/boots").json()
    case["conversation"][0]["finalResponse"]["parts"][0]["text"] = "The boots were lost in the mail."
    api.put(f"{sets}/moved/eval-cases/boots", json=case).raise_for_status()
    api.post(f"{sets}/moved/run", json={"evalMetrics": METRICS}).raise_for_status()
    page = page_at("#/evaluation/moved")
    row = page.get_by_role("row").filter(has_text="boots")
    expect(row).to_contain_text("fails now")
    expect(row).to_have_attribute("aria-selected", "true")  # what became worse is shown first
    expect(page.get_by_text("Fewer cases passed than before. It may be chance")).to_be_visible()
    sides = page.locator(".cmp").first
    expect(sides.locator(".del")).to_contain_text("The boots were lost in the mail.")
    expect(sides.locator(".add")).to_contain_text("Your walking boots is delivered.")
    page.get_by_role("row").filter(has_text="jacket").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("case=jacket"))
    page.reload()
    expect(page.locator(".insp h2")).to_contain_text("jacket")


def test_an_answer_is_rated_listed_and_exported(page_at: Any, new_session: Callable[..., str], api: Any):
    session = new_session("Where is order 19?")
    page = page_at(f"#/support_desk/{session}")
    down = page.get_by_role("button", name="A bad answer")
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="A good answer").click()
    expect(down).to_have_attribute("aria-pressed", "false")
    page.reload()
    expect(page.get_by_role("button", name="A good answer")).to_have_attribute("aria-pressed", "true")
    page.goto(page.url.replace(session, f"{session}/events"))
    page.get_by_role("button", name="feedback 2").click()
    expect(page.get_by_role("grid", name="Events")).to_contain_text("a good answer")
    page.get_by_role("link", name="Evaluation").click()
    page.get_by_role("tab", name="Feedback").click()
    ours = page.get_by_role("row").filter(has=page.locator(f'a[href*="{session}"]'))
    expect(ours).to_contain_text("Your rain jacket")
    page.get_by_role("button", name="bad answers").click()
    expect(ours).to_have_count(0)
    page.get_by_role("button", name="good answers").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    saved = json.loads(Path(download.value.path()).read_text())
    assert [one["rating"] for one in saved if one["sessionId"] == session] == ["up"]
    page.reload()
    expect(ours).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["#/evaluation/seen", "#/evaluation/seen?add=x", "#/evaluation?view=feedback"])
def test_axe_finds_nothing_serious_in_evaluation(
    page_at: Any, new_session: Callable[..., str], api: Any, place: str, theme: str
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    sets = "/dev/apps/support_desk/eval-sets"
    if "seen" not in api.get(sets).json()["evalSetIds"]:
        api.post(sets, json={"evalSet": {"eval_set_id": "seen", "eval_cases": []}}).raise_for_status()
        session = new_session("Where is order 19?")
        body = {"evalId": "one", "sessionId": session, "userId": "user"}
        api.post(f"{sets}/seen/add-session", json=body).raise_for_status()
        for _ in range(2):
            api.post(f"{sets}/seen/run", json={"evalMetrics": METRICS}).raise_for_status()
        rated = api.get(f"/apps/support_desk/users/user/sessions/{session}").json()["events"][-1]["id"]
        path = f"/apps/support_desk/users/user/sessions/{session}/events/{rated}/feedback"
        api.post(path, json={"rating": "up", "comment": "kind"}).raise_for_status()
    page = page_at(place, theme=theme)
    expect(page.get_by_role("heading", name="Evaluation")).to_be_visible()
    page.wait_for_timeout(500)
    found = axe.Axe().run(page).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []
