"""One agent of scripted answers under plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.artifacts import InMemoryArtifactService
from newel.models.scripted import ScriptedModel
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import Event, Session


class Talk:
    """A session with an agent."""

    def __init__(
        self, steps: Sequence[Any], *plugins: Any, tools: Sequence[Any] = (), distribution: str = "adk",
        artifacts: Any = None, **agent: Any,
    ) -> None:  # fmt: skip
        self.model = ScriptedModel(steps)
        self.artifacts = artifacts if artifacts is not None else InMemoryArtifactService()
        self.runner = Runner(
            agent=LlmAgent(name="clerk", model=self.model, tools=list(tools), **agent), app_name="desk",
            session_service=InMemorySessionService(), artifact_service=self.artifacts or None, plugins=plugins,
            auto_create_session=True, distribution=distribution,
        )  # fmt: skip

    async def send(self, message: Any = "hello", **options: Any) -> list[Event]:
        """The events of one invocation."""
        run = self.runner.run_async(user_id="ada", session_id="s1", new_message=message, **options)
        return [event async for event in run]

    async def stored(self) -> Session:
        """The session as the store has it."""
        session = await self.runner.session_service.get_session(app_name="desk", user_id="ada", session_id="s1")
        assert session is not None
        return session

    def asked(self) -> list[list[str | None]]:
        """The texts of the contents of the last request."""
        return [[part.text for part in content.parts or ()] for content in self.model.requests[-1].contents]


@pytest.fixture
def talk() -> Callable[..., Talk]:
    """Makes a `Talk`."""
    return Talk
