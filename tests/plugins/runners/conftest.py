"""A conversation with an agent of scripted answers, over stores in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.apps import App, ResumabilityConfig
from newel.artifacts import InMemoryArtifactService
from newel.models.scripted import ScriptedModel
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import Event, Session

WHERE = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


class Talk:
    """One session with one agent."""

    def __init__(
        self, steps: Sequence[Any], tools: Sequence[Any] = (), *, distribution: str = "standard",
        resumable: bool = False, plugins: Sequence[Any] = (), **agent: Any,
    ) -> None:  # fmt: skip
        self.model = ScriptedModel(steps)
        self.agent = LlmAgent(name="clerk", model=self.model, tools=list(tools), **agent)
        app = App(
            name="desk", root_agent=self.agent, plugins=list(plugins),
            resumability_config=ResumabilityConfig(is_resumable=resumable),
        )  # fmt: skip
        self.runner = Runner(
            app=app, session_service=InMemorySessionService(), artifact_service=InMemoryArtifactService(),
            auto_create_session=True, distribution=distribution,
        )  # fmt: skip

    def start(self, message: Any = "hello", **options: Any) -> Any:
        """The events of one invocation, to be iterated over."""
        return self.runner.run_async(user_id="ada", session_id="s1", new_message=message, **options)

    async def send(self, message: Any = "hello", **options: Any) -> list[Event]:
        """The events of one invocation."""
        return [event async for event in self.start(message, **options)]

    async def stored(self) -> Session:
        """The session as the store has it."""
        session = await self.runner.session_service.get_session(**WHERE)  # type: ignore[arg-type]
        assert session is not None
        return session


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
