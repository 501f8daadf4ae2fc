"""InMemoryRunner: a runner for tests and first steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from newel import artifacts, memory, sessions
from newel.contexts.generics import DepsIn, Out
from newel.runners.runner import CLOSE_SECONDS, Runner

if TYPE_CHECKING:
    from newel.agents.base_agent import BaseAgent as TypedAgent


class InMemoryRunner(Runner[DepsIn, Out]):
    """A Runner whose stores live in this process, and which creates missing sessions."""

    def __init__(
        self,
        agent: TypedAgent[DepsIn, Out] | None = None,
        *,
        node: Any = None,
        app_name: str | None = None,
        app: Any = None,
        plugins: Sequence[Any] | None = None,
        plugin_close_timeout: float = CLOSE_SECONDS,
        distribution: str | None = None,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or ("InMemoryRunner" if app is None else None),
            agent=agent,
            node=node,
            plugins=plugins,
            plugin_close_timeout=plugin_close_timeout,
            session_service=sessions.InMemorySessionService(),
            artifact_service=artifacts.InMemoryArtifactService(),
            memory_service=memory.InMemoryMemoryService(),
            auto_create_session=True,
            distribution=distribution,
        )
