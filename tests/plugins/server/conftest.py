"""Servers over real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from newel import Agent
from newel.server import app
from newel.testing import ScriptedModel


@contextmanager
def served(application: Any, **settings: Any) -> Iterator[httpx.Client]:
    """A client of an app that uvicorn serves in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        settings = {"log_level": "warning", "lifespan": "on", "ws": "websockets-sansio", **settings}
        server = uvicorn.Server(uvicorn.Config(application, **settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


Serve = Callable[..., httpx.Client]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves agents (or what else `newel.server.app` takes) until the test ends; returns a client."""
    open_servers: list[Any] = []

    def start(*arguments: Any, **options: Any) -> httpx.Client:
        if not arguments and "agents" not in options:
            options["agents"] = {"clerk": Agent(name="clerk", model=ScriptedModel(["Good morning"] * 20))}
        within = options.pop("within", lambda one: one)
        manager = served(within(app(*arguments, **options)))
        client = manager.__enter__()
        open_servers.append(manager)
        return client

    yield start
    for manager in reversed(open_servers):
        manager.__exit__(None, None, None)
