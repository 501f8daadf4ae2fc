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
    from newel_kernel import BaseLlm, Draft, Event, Json, LlmRequest, Plan
    from newel_types import Blob, Content


class LiveSession(Protocol):
    """An agent's live run, from the preparation of its request to the end of its connections."""

    ctx: InvocationContext
    plan: Plan
    #: What the connection is made from; its contents are the history.
    request: LlmRequest
    settings: Settings
    model: BaseLlm
    #: Where what the user says comes in.
    queue: LiveRequestQueue
    #: What was read ahead of the consumer.
    inbox: Inbox
    #: State that hooks of the model wrote, for the next event.
    draft: Draft
    #: By what the session goes on over another connection; None: it cannot.
    handle: str | None
    #: Whether it begins anew after this response.
    restarts: bool

    @property
    def listeners(self) -> Mapping[str, LiveRequestQueue]:
        """What the calls of streaming tools that listen read, by the ids of the calls; always the same mapping."""

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
        """Give what the user sends to the calls of streaming tools that listen, too."""

    def revoke(self, ids: Iterable[str]) -> None:
        """The service wants no results of these calls: those that run are cancelled, and nothing is sent for them."""

    def reconnect(self) -> None:
        """Go on over a new connection, by the handle."""

    def restart(self, answer: Event | None = None) -> None:
        """Forget what the service knows: prepare anew, and begin a session of it with the history as it is then.

        `answer` stands in place of the response that is on its way in, once the steps have reported on that.
        """
