"""The contract of an engine: who dispatches an invocation and brings it back after a crash."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from newel_kernel.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationSpec:
    """An invocation as plain data, so that another process can run or resume it."""

    app_name: str
    user_id: str
    session_id: str
    invocation_id: str
    new_message: dict[str, Any] | None = None
    run_config: dict[str, Any] | None = None


class BaseEngine(ABC):
    """Runs invocations somewhere. The session's log is the record; steps are keyed by function-call id."""

    @abstractmethod
    async def start(self, invocation: InvocationSpec) -> None:
        """Begin an invocation; starting one twice is the same as once."""

    @abstractmethod
    async def resume(self, invocation: InvocationSpec) -> None:
        """Continue an invocation that paused or whose worker died."""

    @abstractmethod
    async def signal(self, invocation_id: str, message: dict[str, Any]) -> None:
        """Hand a user's message to a running invocation."""

    @abstractmethod
    async def cancel(self, invocation_id: str) -> None:
        """Stop an invocation; its running tool calls get a result event."""

    @abstractmethod
    async def result(self, invocation_id: str) -> list[Event]:
        """The events of an invocation, once it ended."""

    @abstractmethod
    def subscribe(self, invocation_id: str) -> AsyncGenerator[Event, None]:
        """The events of an invocation as they are committed."""
