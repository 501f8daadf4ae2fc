"""A conversation over a fresh composition."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.artifacts import InMemoryArtifactService
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_compose import compose
from newel_kernel import BaseAgent, Event, Session

WHERE = {"app_name": "tearoom", "user_id": "ada", "session_id": "s1"}


class Talk:
    """One session with one agent."""

    def __init__(self, agent: BaseAgent, *, distribution: Any = "adk", plugins: Any = (), **runner: Any) -> None:
        self.service = InMemorySessionService()
        self.artifacts = InMemoryArtifactService()
        self.runner = Runner(
            agent=agent, app_name="tearoom", plugins=plugins, session_service=self.service,
            artifact_service=self.artifacts, auto_create_session=True, composition=compose(distribution), **runner,
        )  # fmt: skip

    async def send(self, message: Any = "tea", **options: Any) -> list[Event]:
        where = {"user_id": "ada", "session_id": "s1", **options}
        return [event async for event in self.runner.run_async(new_message=message, **where)]

    def say(self, message: Any = "tea", **options: Any) -> list[Event]:
        return asyncio.run(self.send(message, **options))

    @property
    def session(self) -> Session:
        session = asyncio.run(self.service.get_session(**WHERE))
        assert session is not None
        return session


@pytest.fixture
def talk() -> type[Talk]:
    return Talk
