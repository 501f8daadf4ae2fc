"""Stored sessions in the page, without the code of their agents: all to be looked at, none to be changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

expect = pytest.importorskip("playwright.sync_api").expect
Serve = Callable[..., AbstractContextManager[str]]
SAID = "The boots from order 17 leak. I want my money back."


@pytest.fixture(scope="module")
def shown(store: Path, address: str, serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a second server, which shows the file of the first one while that writes it."""
    with serve(str(store), "--no-token", cwd=tmp_path_factory.mktemp("stored")) as found:
        yield found.rstrip("/")


def links(session: str, panel: str) -> str:
    return f"#/support_desk/{session}/{panel}"


def test_all_that_is_stored_is_shown_and_no_control_writes(page_at: Any, shown: str, new_session: Callable[..., str]):
    session = new_session(SAID)
    page = page_at(links(session, "run"), origin=shown)
    talk = page.get_by_role("main", name="Conversation")
    expect(talk).to_contain_text("You get the full price back")
    expect(page.get_by_text("These sessions come from sessions.db")).to_be_visible()
    card = page.get_by_label("refunds asks for approval")
    expect(card).to_contain_text("129")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("tree").get_by_role("treeitem", name=re.compile("refund 17"))).to_contain_text("asks")
    expect(page.get_by_label("Totals of run 1")).to_contain_text("$0.0")
    for name in ("Send", "New session", "Fork", "Edit"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("grid", name="Events")).to_contain_text("find_order")
    page.get_by_role("tab", name="State").click()
    row = page.get_by_role("row").filter(has_text="orders_seen")
    expect(row).to_contain_text("[17]")
    row.click()
    expect(page.get_by_label("Value of orders_seen, as JSON")).to_have_count(0)
    page.reload()
    expect(row).to_contain_text("[17]")


@pytest.mark.parametrize(
    ("panel", "says"),
    [
        ("chain", "Chain needs the agent"),
        ("graph", "Graph needs the agent"),
        ("artifacts", "Files are kept elsewhere"),
    ],
)
def test_what_is_not_there_says_why(page_at: Any, shown: str, new_session: Callable[..., str], panel: str, says: str):
    page = page_at(links(new_session("Hello"), panel), origin=shown)
    expect(page.get_by_role("heading", name=says)).to_be_visible()


def test_events_of_another_process_appear(page_at: Any, shown: str, new_session: Callable[..., str], api: httpx.Client):
    session = new_session("Hello")
    page = page_at(links(session, "events"), origin=shown)
    expect(page.get_by_role("grid", name="Events")).to_have_attribute("aria-rowcount", "2")
    message = {"role": "user", "parts": [{"text": "Where is order 19?"}]}
    place = {"appName": "support_desk", "userId": "user", "sessionId": session}
    api.post("/run", json={**place, "newMessage": message}).raise_for_status()
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("is on its way")


def test_the_server_refuses_what_writes(shown: str, new_session: Callable[..., str]):
    place = f"/apps/support_desk/users/user/sessions/{new_session('Hello')}"
    with httpx.Client(base_url=shown, trust_env=False) as client:
        for method, path in (
            ("POST", "/apps/support_desk/users/user/sessions"),
            ("PATCH", place),
            ("DELETE", place),
            ("POST", "/run"),
            ("POST", f"{place}/artifacts"),
            ("POST", "/dev/apps/support_desk/eval-sets"),
        ):
            refused = client.request(method, path, json={})
            assert refused.status_code == 403, (method, path)
            assert "newel web AGENTS_DIR --sessions URI" in refused.json()["detail"]
        assert client.get(place).status_code == 200
        graph = client.get("/dev/apps/support_desk/build_graph")
        assert (graph.status_code, "code of the agent" in graph.json()["detail"]) == (409, True)
        methods = {method for path in client.get("/openapi.json").json()["paths"].values() for method in path}
        assert methods == {"get"}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["#/sessions", "run", "chain"])
def test_axe_finds_nothing_serious(page_at: Any, shown: str, new_session: Callable[..., str], place: str, theme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    at = place if not place or place.startswith("#") else links(new_session(SAID), place)
    page = page_at(at, origin=shown, theme=theme)
    expect(page.locator("main, .panel").first).to_be_visible()
    page.wait_for_timeout(400)
    found = axe.Axe().run(page).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"][:160]) for one in found if one["impact"] in ("serious", "critical")
    ] == []


def test_every_user_is_found_and_an_address_names_them(page_at: Any, closed: Path, serve: Serve, tmp_path: Path):
    with serve(str(closed), "--no-token", cwd=tmp_path) as address:
        page = page_at("", origin=address.rstrip("/"))
        page.get_by_label("Agent").select_option("shop")
        page.get_by_label("User").select_option("b@b/ü")
        page.locator(".full").get_by_role("link", name="I am b@b/ü at the shop.").click()
        expect(page.get_by_role("main", name="Conversation")).to_contain_text("I am b@b/ü at the shop.")
        expect(page).to_have_url(re.compile(r"#/shop@b%40b%2F%C3%BC/one"))
        page.reload()
        expect(page.get_by_role("main", name="Conversation")).to_contain_text("I am b@b/ü at the shop.")
        page.close()  # before its server ends
