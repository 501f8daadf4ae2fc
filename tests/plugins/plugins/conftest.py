"""One agent of scripted answers under plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.artifacts import InMemoryArtifactService
from newel.testing import Conversation, ScriptedModel


class Talk(Conversation):
    """A session with an agent."""

    def __init__(
        self,
        steps: Sequence[Any],
        *plugins: Any,
        tools: Sequence[Any] = (),
        distribution: str = "adk",
        artifacts: Any = None,
        **agent: Any,
    ) -> None:
        self.artifacts = artifacts if artifacts is not None else InMemoryArtifactService()
        clerk = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=list(tools), **agent)
        super().__init__(
            clerk,
            plugins=plugins,
            distribution=distribution,
            app_name="desk",
            user_id="ada",
            session_id="s1",
            artifact_service=self.artifacts or None,
        )

    def asked(self) -> list[list[str | None]]:
        """The texts of the contents of the last request."""
        return [[part.text for part in content.parts or ()] for content in self.requests[-1].contents]


@pytest.fixture
def talk() -> Callable[..., Talk]:
    """Makes a `Talk`."""
    return Talk
