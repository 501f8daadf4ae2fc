"""Panels of plugins: served with their provider's name, drawn as custom elements; one that fails stays alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.plugins.server.conftest import served

from newel import Agent
from newel.server import app
from newel.server.options import Options
from newel.testing import ScriptedModel
from newel.web.kinds import WebPanel
from newel_compose import compose
from newel_kernel import hookimpl

HATS = """
import { html, render } from "../vendor/preact.js";
customElements.define("shop-hats", class extends HTMLElement {
  set events(list) { this.count = list.length; this.draw(); }
  connectedCallback() { this.draw(); }
  draw() {
    const { app, user } = this.session;
    if (this.isConnected) render(html`<p>${this.count} events of ${app} for ${user}</p>`, this);
  }
});
"""
BROKEN = {
    "throws": "throw new Error('no hats today');",
    "defines-nothing": "export const x = 1;",
    "is-no-module": "this is not JavaScript",
    "fails-when-drawn": (
        'customElements.define("fails-when-drawn", '
        "class extends HTMLElement { connectedCallback() { throw new Error('cannot draw'); } });"
    ),
}


class Shop:
    """A stranger's plugin."""

    name = "shop"

    @hookimpl
    def register_web_panels(self) -> list[WebPanel]:
        """A panel that works, those that do not, and one whose source cannot be read."""
        good = WebPanel(name="hats", title="Hats", element="shop-hats", source=lambda: HATS, line="what was sold.")
        bad = [
            WebPanel(name=name, title=name.title(), element=name, source=lambda source=source: source)  # type: ignore[misc]
            for name, source in BROKEN.items()
        ]
        return [good, *bad, WebPanel(name="unread", title="Unread", element="shop-unread", source=_unreadable)]


def _unreadable() -> str:
    raise FileNotFoundError("hats.js")


@pytest.fixture
def shop() -> Any:
    """A client of a server with the panels."""
    agent = Agent(name="clerk", model=ScriptedModel(["Good morning"] * 20))
    composition = compose("standard", plugins=[Shop()])
    with served(app(agents={"clerk": agent}, composition=composition, options=Options(development=True))) as client:
        yield client


def test_panels_are_listed_with_their_provider(shop: Any):
    found = {one["name"]: one for one in shop.get("/web/panels").json()}
    assert found["hats"] == {
        "name": "hats",
        "title": "Hats",
        "element": "shop-hats",
        "line": "what was sold.",
        "plugin": "shop",
        "source": found["hats"]["source"],
    }
    assert found["memory"]["source"].startswith("newel ")  # two of newel's own are made in the same way
    assert found["compare"]["plugin"] == "web"


def test_a_panels_module_is_served_and_known_by_its_hash(shop: Any):
    first = shop.get("/web/panels/hats.js")
    assert (first.text, first.headers["content-type"]) == (HATS, "text/javascript; charset=utf-8")
    assert shop.get("/web/panels/hats.js", headers={"if-none-match": first.headers["etag"]}).status_code == 304
    assert shop.get("/web/panels/none.js").status_code == 404
    failed = shop.get("/web/panels/unread.js")
    assert failed.status_code == 500
    assert "unread" in failed.json()["detail"]


@pytest.fixture
def session(shop: Any) -> str:
    """A session of one turn."""
    id_: str = shop.post("/apps/clerk/users/user/sessions", json={}).json()["id"]
    message = {"role": "user", "parts": [{"text": "Hello"}]}
    body = {"appName": "clerk", "userId": "user", "sessionId": id_, "newMessage": message}
    shop.post("/run", json=body).raise_for_status()
    return id_


def test_a_strangers_panel_is_drawn_and_follows_the_session(shop: Any, session: str, page_at: Any):
    expect = pytest.importorskip("playwright.sync_api").expect
    origin = str(shop.base_url).rstrip("/")
    page = page_at(f"#/clerk/{session}/panel/hats", origin=origin)
    expect(page.get_by_text("2 events of clerk for user")).to_be_visible()
    expect(page.get_by_text("what was sold.")).to_be_visible()
    page.get_by_label("Write a message").fill("Again")
    page.get_by_label("Send").click()
    expect(page.get_by_text("4 events of clerk for user")).to_be_visible()


@pytest.mark.parametrize("name", [*BROKEN, "unread"])
def test_a_panel_that_fails_is_named_and_the_page_goes_on(shop: Any, session: str, page_at: Any, name: str):
    expect = pytest.importorskip("playwright.sync_api").expect
    page = page_at(f"#/clerk/{session}/panel/{name}", origin=str(shop.base_url).rstrip("/"), tolerant=True)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"The panel {name.title()} of")
    expect(alert).to_contain_text("disable: [shop]")
    page.get_by_role("tab", name="Hats").click()
    expect(page.get_by_text("2 events of clerk for user")).to_be_visible()
