"""A server as its command starts it, and a page in the system's Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from newel.sessions import SqliteSessionService
from newel_kernel import Event

AGENTS = Path(__file__).parent / "agents"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: How long a page may take, in milliseconds; how fast it is, the benchmarks say.
PATIENCE = 60_000
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/(?:#token=(\S+))?")


@contextlib.contextmanager
def serving(*arguments: str, cwd: Path) -> Iterator[str]:
    """`newel web` with these arguments; its address, as it prints it."""
    command = [sys.executable, "-m", "newel.cli.main", "web", *arguments, "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "NEWEL_DISTRIBUTION"}
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if (found := _ADDRESS.search(line)) is not None:
                    break
            else:
                raise AssertionError("the server did not start")
            yield found[0].decode()
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture(scope="session")
def serve() -> Callable[..., contextlib.AbstractContextManager[str]]:
    """Starts `newel web` with the arguments; its address."""
    return serving


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the server's sessions."""
    return tmp_path_factory.mktemp("web") / "sessions.db"


@pytest.fixture(scope="session")
def address(store: Path) -> Iterator[str]:
    """The address of a server of the agents, whose folder is a copy: evaluation writes into it."""
    agents = shutil.copytree(AGENTS, store.parent / "agents", ignore=shutil.ignore_patterns("__pycache__"))
    with serving(str(agents), "--sessions", f"sqlite:///{store}", "--no-token", cwd=store.parent) as found:
        yield found.rstrip("/")


@pytest.fixture(scope="session")
def api(address: str) -> Iterator[httpx.Client]:
    """A client of the same server."""
    with httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
        yield client


def chromium_path() -> str | None:
    """The system's Chromium."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The system's Chromium, for a module: its driver leaves a running loop in the thread of the tests."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = chromium_path()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the PATH")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--use-fake-device-for-media-stream"]
        )
        yield browser
        browser.close()


Open = Callable[..., Any]


@pytest.fixture
def page_at(chromium: Any, address: str) -> Iterator[Open]:
    """Opens a page at an address of the web UI; at the end nothing went wrong in it, and nothing left its origin."""
    contexts: list[Any] = []
    problems: list[str] = []

    def opened(
        place: str = "",
        *,
        width: int = 1440,
        theme: str = "light",
        allowed: str = "",
        tolerant: bool = False,
        origin: str = address,
        permissions: tuple[str, ...] = (),
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            permissions=["clipboard-read", "clipboard-write", *permissions],
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()

        def note(message: Any) -> None:
            if message.type in ("error", "warning") and not (allowed and allowed in message.text):
                problems.append(f"{message.type}: {message.text}")

        if not tolerant:
            page.on("console", note)
            page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))
        page.on(
            "request",
            lambda sent: (
                None if sent.url.startswith((origin, "data:", "blob:")) else problems.append(f"it asked {sent.url}")
            ),
        )
        page.goto(f"{origin}/web/{place}")
        return page

    yield opened
    for one in contexts:
        one.close()
    assert problems == []


@pytest.fixture
def new_session(api: httpx.Client) -> Callable[..., str]:
    """Makes a session with the support desk in which these messages were said; returns its id."""

    def make(*messages: str, events: list[Any] | None = None) -> str:
        body = {"events": events} if events is not None else {}
        id_: str = api.post("/apps/support_desk/users/user/sessions", json=body).raise_for_status().json()["id"]
        for text in messages:
            message = {"role": "user", "parts": [{"text": text}]}
            place = {"appName": "support_desk", "userId": "user", "sessionId": id_}
            api.post("/run", json={**place, "newMessage": message}).raise_for_status()
        return id_

    return make


async def _fill(path: Path) -> None:
    """Sessions of two apps and three users."""
    store = SqliteSessionService(path)
    for app, user in (("shop", "ann"), ("shop", "b@b/ü"), ("bank", "ann")):
        where = {"app_name": app, "user_id": user}
        await store.create_session(**where, session_id="one", state={"from": "the beginning"})
        view = await store.open(**where, session_id="one")
        assert view is not None
        text = {"parts": [{"text": f"I am {user} at the {app}."}]}
        await store.append_event(view, Event.model_validate({"author": "user", "invocationId": "e", "content": text}))
    await store.close()


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A file that no process has open."""
    (tmp_path / "stored").mkdir()
    with ThreadPoolExecutor(1) as pool:  # in the thread of the tests, a loop may be running
        pool.submit(asyncio.run, _fill(path := tmp_path / "stored" / "shop.db")).result()
    return path
