"""A server under uvicorn with newel's own connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from tests.plugins.server.conftest import served

from newel import Agent
from newel.server import Options, app
from newel.server.security.deadlines import protocol
from newel.server.security.guards import Guards
from newel.testing import ScriptedModel


@pytest.fixture
def serve_guarded() -> Iterator[Callable[..., httpx.Client]]:
    """Serves an agent with the given guards."""
    opened: list[Any] = []

    def start(**guards: Any) -> httpx.Client:
        own = Guards(**guards)
        agents = {"clerk": Agent(name="clerk", model=ScriptedModel(["Good morning"] * 20))}
        application = app(agents=agents, options=Options(host="127.0.0.1", guards=own))
        manager = served(application, http=protocol(own.seconds), timeout_keep_alive=120)
        opened.append(manager)
        return manager.__enter__()

    yield start
    for manager in opened:
        manager.__exit__(None, None, None)
