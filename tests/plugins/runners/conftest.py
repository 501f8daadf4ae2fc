"""A conversation with an agent of scripted answers, over stores in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Session


class Talk(Conversation):
    """One session with one agent."""

    def __init__(
        self,
        steps: Sequence[Any],
        tools: Sequence[Any] = (),
        *,
        distribution: str = "standard",
        resumable: bool = False,
        plugins: Sequence[Any] = (),
        **agent: Any,
    ) -> None:
        self.agent = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=list(tools), **agent)
        app = App(
            name="desk",
            root_agent=self.agent,
            plugins=list(plugins),
            resumability_config=ResumabilityConfig(is_resumable=resumable),
        )
        super().__init__(app, distribution=distribution, user_id="ada", session_id="s1")


@pytest.fixture
def talk() -> Callable[..., Talk]:
    """Makes a `Talk`."""
    return Talk


@pytest.fixture
def told() -> Callable[[Session], list[Any]]:
    """What the events of a session say: texts, ``call:<name>``, and the results as they are."""

    def tell(session: Session) -> list[Any]:
        said: list[Any] = []
        for event in session.events:
            for part in (event.content.parts or ()) if event.content is not None else ():
                if part.function_call is not None:
                    said.append(f"call:{part.function_call.name}")
                elif part.function_response is not None:
                    said.append(part.function_response.response)
                else:
                    said.append(part.text)
        return said

    return tell
