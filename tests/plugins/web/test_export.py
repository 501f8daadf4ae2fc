"""Exported pages, opened from disk with the network cut: one session, no request, nothing of it becomes a script."""

from __future__ import annotations

import asyncio
import base64
import gzip
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest

import newel_redact.plugin
from newel.artifacts import FileArtifactService
from newel.server.options import Options
from newel.server.places import Place
from newel.server.stored_application import stored_app
from newel.sessions import SqliteSessionService
from newel.web.export import MOST, exported
from newel_compose import compose
from newel_kernel import Event
from newel_types import Part

expect = pytest.importorskip("playwright.sync_api").expect
HERE = Place(app_name="shop", user_id="ann", session_id="one")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u2029<!--<script>]]>"


def export(*arguments: str, cwd: Path) -> str:
    """`newel web` with these arguments, which serves nothing; what it says."""
    command = [sys.executable, "-m", "newel.cli.main", "web", *arguments]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refused(*arguments: str, cwd: Path) -> str:
    """Why `newel web` wrote no page: one line."""
    command = [sys.executable, "-m", "newel.cli.main", "web", *arguments]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100)
    assert (ended.returncode != 0, ended.stderr.count("\n")) == (True, 1), ended.stderr
    return ended.stderr


async def _store(path: Path, events: list[Any]) -> None:
    store = SqliteSessionService(path)
    await store.create_session(**HERE, state={"user:mail": "ann@example.org"})
    view = await store.open(**HERE)
    assert view is not None
    for one in events:
        await store.append_event(view, Event.model_validate({"invocationId": "e-1", **one}))
    await store.close()


def said(text: str, author: str = "user") -> dict[str, Any]:
    role = "user" if author == "user" else "model"
    return {"author": author, "content": {"role": role, "parts": [{"text": text}]}}


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[list[Any]], Path]:
    """Stores the session of `HERE` with these events; its file."""

    def make(events: list[Any]) -> Path:
        with ThreadPoolExecutor(1) as pool:  # in the thread of the tests, a loop may be running
            pool.submit(asyncio.run, _store(path := tmp_path / "s.db", events)).result()
        return path

    return make


@pytest.fixture
def from_disk(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file with the network cut; at the end it has asked for nothing, and no error was logged."""
    contexts: list[Any] = []
    problems: list[str] = []

    def opened(file: Path, place: str = "", *, theme: str = "light") -> Any:
        context = chromium.new_context(offline=True, color_scheme=theme, viewport={"width": 1440, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda one: problems.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))
        own = (file.as_uri(), "blob:", "data:")
        page.on("request", lambda sent: None if sent.url.startswith(own) else problems.append(f"it asked {sent.url}"))
        page.goto(f"{file.as_uri()}{place}")
        return page

    yield opened
    for one in contexts:
        one.close()
    assert problems == []


@pytest.fixture(scope="module")
def told(store: Path, api: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a session with a tool, a transfer and an open approval."""
    made = api.post("/apps/support_desk/users/user/sessions", json={}).json()["id"]
    for text in ("Where is my rain jacket? Order 19.", "The boots from order 17 leak. I want my money back."):
        message = {"role": "user", "parts": [{"text": text}]}
        place = {"appName": "support_desk", "userId": "user", "sessionId": made}
        api.post("/run", json={**place, "newMessage": message}).raise_for_status()
    folder = tmp_path_factory.mktemp("export")
    assert f"{made} of user" in export(str(store), "--export", made[:13], "run.html", cwd=folder)
    return folder / "run.html"


def test_the_same_panels_open_from_disk(from_disk: Any, told: Path):
    assert told.stat().st_size < MOST
    page = from_disk(told)
    talk = page.get_by_role("main", name="Conversation")
    expect(talk).to_contain_text("Your rain jacket is on its way")
    expect(page.get_by_text("This page holds one session as it was stored on")).to_be_visible()
    expect(page.get_by_role("tree").get_by_role("treeitem", name=re.compile("refund 17"))).to_contain_text("asks")
    expect(page.get_by_label("Totals of run 2")).to_contain_text("$0.0")
    expect(page.get_by_label("refunds asks for approval")).to_contain_text("cannot give")
    page.get_by_role("tab", name="State").click()
    row = page.get_by_role("row").filter(has_text="orders_seen")
    expect(row).to_contain_text("19")
    page.get_by_role("tab", name="Events").click()
    page.get_by_role("row").filter(has_text="find_order").first.click()
    expect(page.locator(".detail")).to_contain_text('"functionCall"')
    page.reload()
    expect(page.locator(".detail")).to_contain_text('"functionCall"')
    page.get_by_role("tab", name="Chain").click()
    expect(page.get_by_role("heading", name="Chain needs the agent")).to_be_visible()
    for name in ("Send", "New session", "Fork", "Edit", "Delete"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(from_disk: Any, told: Path, theme: str):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = from_disk(told, theme=theme)
    expect(page.get_by_role("tree")).to_be_visible()
    page.evaluate("document.querySelector('meta[http-equiv]').remove()")
    found = axe.Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_nothing_of_an_attacker_runs(from_disk: Any, stored: Callable[[list[Any]], Path], tmp_path: Path):
    call = {"functionCall": {"id": "c", "name": "x", "args": {EVIL: EVIL, "to": "\u202egnp.exe"}}}
    file = stored([said(EVIL), said(EVIL, EVIL), {"author": EVIL, "content": {"role": "model", "parts": [call]}}])
    export(str(file), "--export", "shop/ann/one", "run.html", cwd=tmp_path)
    text = (tmp_path / "run.html").read_text()
    assert "alert(" not in text
    assert text.count("</script>") == 4
    page = from_disk(tmp_path / "run.html", "#/shop/one/events/3")
    expect(page.locator(".detail")).to_contain_text("onerror=alert(2)")
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("onerror=alert(2)")
    assert page.locator("img").count() == 0


def test_a_long_event_is_cut_with_a_word(from_disk: Any, stored: Callable[[list[Any]], Path], tmp_path: Path):
    file = stored([said("".join(f"{n:x}" for n in range(1_000_000))), said("The end.", "shop")])
    assert file.stat().st_size > 4_800_000
    export(str(file), "--export", "one", "run.html", cwd=tmp_path)
    assert (tmp_path / "run.html").stat().st_size < MOST
    page = from_disk(tmp_path / "run.html", "#/shop/one/events/1")
    expect(page.get_by_text("Long texts and files that are cut, and say so: ")).to_be_visible()
    cut = page.locator(".detail pre").inner_text()
    assert re.search(r"… \(cut: 4,\d{3},\d{3} more characters are not in this page\)", cut + page.content())
    expect(page.get_by_role("main", name="Conversation")).to_contain_text("The end.")


def test_a_page_that_cannot_be_small_is_not_written(stored: Callable[[list[Any]], Path], tmp_path: Path):
    dice = random.Random(1)
    file = stored([said("".join(dice.choices(ascii_letters, k=300))) for _ in range(9_000)])
    told = refused(str(file), "--export", "one", "run.html", cwd=tmp_path)
    assert "write it with `newel sessions export`" in told
    assert not (tmp_path / "run.html").exists()


def test_files_are_in_the_page(from_disk: Any, stored: Callable[[list[Any]], Path], tmp_path: Path):
    file = stored([said("Hello")])

    async def save() -> None:
        artifacts = FileArtifactService(tmp_path / "files")
        await artifacts.save_artifact(**HERE, filename="bill.md", artifact=Part(text="# Bill of April"))
        large = Part.model_validate({"inlineData": {"mimeType": "image/png", "data": "A" * 4_000_000}})
        await artifacts.save_artifact(**HERE, filename="large.png", artifact=large)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, save()).result()
    export(str(file), "--artifacts", f"file:{tmp_path}/files", "--export", "one", "run.html", cwd=tmp_path)
    page = from_disk(tmp_path / "run.html", "#/shop/one/artifacts/bill.md")
    expect(page.locator(".insp .prose")).to_contain_text("Bill of April")
    page.get_by_role("row").filter(has_text="large.png").click()
    expect(page.locator(".insp .prose")).to_contain_text("image/png of 3,000,000 bytes is not in this page")


def test_plugins_that_redact_mask_the_whole_page(stored: Callable[[list[Any]], Path]):
    file = stored([said("Write to ann@example.org, my key is sk-ant-api03-" + "a1B2" * 12)])
    composition = compose("standard", plugins=[newel_redact.plugin])

    async def made() -> str:
        app = stored_app(f"sqlite:{file}", composition=composition, options=Options(development=True))
        try:
            return (await exported(app, HERE)).decode()
        finally:
            await app.close()

    with ThreadPoolExecutor(1) as pool:
        page = pool.submit(asyncio.run, made()).result()
    data = unpacked(page)
    assert "ann@example.org" not in data
    assert "a1B2a1B2" not in data
    assert "[email masked]" in data
    assert "Masked by redact." in data


def unpacked(page: str) -> str:
    """The session that a page holds, as JSON."""
    found = re.search(r'id="session">([^<]*)<', page)
    assert found is not None
    return gzip.decompress(base64.b64decode(found[1])).decode()


def test_sessions_are_named_by_id_or_in_full(closed: Path, tmp_path: Path):
    assert "names 3 sessions: bank/ann/one" in refused(str(closed), "--export", "one", "run.html", cwd=tmp_path)
    assert "there is no session 'two'" in refused(str(closed), "--export", "two", "run.html", cwd=tmp_path)
    assert "end in .html" in refused(str(closed), "--export", "one", "run.db", cwd=tmp_path)
    assert "there is no session store" in refused("--export", "one", "run.html", cwd=tmp_path)
    assert "cannot be written" in refused(str(closed), "--export", "bank/ann/one", "no/run.html", cwd=tmp_path)
    assert not (tmp_path / ".newel").exists()
    here = tmp_path / ".newel"
    here.mkdir()
    (here / "sessions.db").write_bytes(closed.read_bytes())
    export("--export", "shop/b@b/ü/one", "run.html", cwd=tmp_path)
    assert '"userId":"b@b/ü"' in unpacked((tmp_path / "run.html").read_text())
