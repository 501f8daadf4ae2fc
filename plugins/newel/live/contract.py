"""LiveSession: what steps, tools and the sender may ask of one agent's live run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel.live.inbox import Inbox
    from newel.live.queue import LiveRequest, LiveRequestQueue
    from newel.live.settings import Settings
    from newel.models.contract import BaseLlm
    from newel_kernel import Draft, Event, Json, LlmRequest, Plan
    from newel_types import Blob, Content


class LiveSession(Protocol):
    """An agent's live run, from the preparation of its request to the end of its connections."""

    ctx: InvocationContext
    plan: Plan
    #: What the connection is made from; its contents are the history.
    request: LlmRequest
    settings: Settings
    model: BaseLlm
    #: The user's input.
    queue: LiveRequestQueue
    #: The responses that were read ahead of the consumer.
    inbox: Inbox
    #: State that hooks of the model wrote, for the next event.
    draft: Draft
    #: The handle by which the session continues over another connection; None: it cannot.
    handle: str | None
    #: Whether the session starts again after this response.
    restarts: bool

    @property
    def listeners(self) -> Mapping[str, LiveRequestQueue]:
        """The queues that listening calls of streaming tools read, by call id; always the same mapping."""

    @property
    def due(self) -> bool:
        """Whether the model is to answer, or is answering."""

    def event(self, content: Content | None = None, *, author: str = "", **fields: Any) -> Event:
        """A new event of this run; by default the agent's."""

    async def store(self, content: Content | None, state_delta: Json | None = None) -> None:
        """Store what the user said; it is not yielded."""

    async def emit(self, event: Event) -> None:
        """Have `event` committed and yielded; returns once it is. For tasks of this run, not for its steps."""

    async def send(self, content: Content, *, partial: bool = False) -> None:
        """Send results of tools to the model, as soon as there is a connection."""

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task of this run: it is cancelled and awaited with it."""

    def share(self, item: LiveRequest | Blob) -> None:
        """Pass the user's input on to the calls of streaming tools that listen, too."""

    def revoke(self, ids: Iterable[str]) -> None:
        """The service wants no results of these calls: those that run are cancelled, and nothing is sent for them."""

    def reconnect(self) -> None:
        """Continue over a new connection, by the handle."""

    def restart(self, answer: Event | None = None) -> None:
        """Drop what the service knows: prepare again, and begin a new session with the current history.

        `answer` replaces the incoming response, once the steps have reported on that response.
        """
