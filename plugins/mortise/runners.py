"""Runners: `Runner`, and `InMemoryRunner` for tests and first steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mortise.artifacts.in_memory_artifact_service import InMemoryArtifactService
from mortise.sessions.in_memory_session_service import InMemorySessionService
from mortise_kernel.contracts.agent import BaseAgent
from mortise_kernel.runner import Runner

__all__ = ["InMemoryRunner", "Runner"]


class InMemoryRunner(Runner):
    """A Runner whose stores live in this process, and which creates a session that it does not find."""

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        node: BaseAgent | None = None,
        app_name: str | None = None,
        app: Any = None,
        plugins: Sequence[Any] | None = None,
        distribution: str | None = None,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or ("InMemoryRunner" if app is None else None),
            agent=agent,
            node=node,
            plugins=plugins,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            auto_create_session=True,
            distribution=distribution,
        )
