"""RunningSession: what the parts of one agent's live run share, and what they ask of each other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from newel.contexts.invocation_context import InvocationContext
from newel.live.background import Background
from newel.live.inbox import Inbox
from newel.live.sender import refusal
from newel.live.settings import Settings
from newel.models.contract import BaseLlm
from newel.models.live import LIVE_CONFIG
from newel_kernel import Draft, Event, EventActions, Json, LlmRequest, LlmResponse, ModelAgent, Plan
from newel_types import Content

if TYPE_CHECKING:
    from newel.live.link import Link
    from newel.live.queue import LiveRequest, LiveRequestQueue
    from newel_types import Blob

_MISSED = (
    "the typed text was still in a callback when another agent took over, or the session restarted: it is not sent, "
    "although the session has stored it; send it again"
)


class RunningSession:
    """The session as the driver has it, a `LiveSession`."""

    __slots__ = (
        "_missed",
        "agent",
        "answer",
        "background",
        "ctx",
        "draft",
        "handle",
        "inbox",
        "left",
        "link",
        "model",
        "plan",
        "queue",
        "request",
        "restarts",
        "settings",
        "unread",
    )

    def __init__(self, ctx: InvocationContext, plan: Plan, request: LlmRequest) -> None:
        self.ctx = ctx
        self.plan = plan
        #: What the connection is made from; its contents are the history.
        self.request = request
        self.settings = ctx.composition.settings_of("live", Settings)
        self.agent = cast("ModelAgent", ctx.agent)
        self.model = cast("BaseLlm", self.agent.__newel__.model_for(ctx))
        self.queue: LiveRequestQueue = ctx.live_request_queue
        self.inbox = Inbox(self.settings.read_ahead_responses, self.settings.read_ahead_bytes)
        #: State that hooks of the model wrote, for the next event.
        self.draft = Draft()
        #: Tool calls that run, and the streams of those that listen.
        self.background = Background(self)
        self.link: Link | None = None
        #: The handle by which the session continues over another connection; None: it cannot.
        self.handle: str | None = None
        #: Whether the session is prepared again from the beginning, to drop what the service knows.
        self.restarts = False
        #: What is yielded in place of the last response.
        self.answer: Event | None = None
        #: Whether it has ended, or another agent goes on: what the connection still sends is ignored.
        self.left = False
        self._missed = False
        #: What was spoken and not yet read as the session ended.
        self.unread: list[LlmResponse] = []

    def event(self, content: Content | None = None, *, author: str = "", **fields: Any) -> Event:
        """A new event of this run; by default the agent's."""
        ctx = self.ctx
        return Event(
            invocation_id=ctx.invocation_id,
            author=author or ctx.agent.name,
            branch=ctx.branch,
            content=content,
            isolation_scope=ctx.isolation_scope,
            **fields,
        )

    async def store(self, content: Content | None, state_delta: Json | None = None) -> None:
        """Store what the user said; it is not yielded."""
        actions = EventActions(state_delta=state_delta) if state_delta else None
        event = self.event(content, author="user", actions=actions)
        metadata = self.ctx.run_config.custom_metadata
        if metadata and self.settings.metadata_on_user_events:
            event.custom_metadata = dict(metadata)
        await self.ctx.session_service.append_event(self.ctx.session, event)

    async def emit(self, event: Event) -> None:
        """Have `event` committed and yielded; returns once it is. For tasks of this run, not for its steps."""
        await self.inbox.leave(event)

    async def send(self, content: Content, *, partial: bool = False) -> None:
        """Send results of tools to the model, as soon as there is a connection."""
        if self.link is not None:
            await self.link.send(content, partial=partial)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task of this run: it is cancelled and awaited with it."""
        return self.background.spawn(work, name)

    @property
    def listeners(self) -> Mapping[str, LiveRequestQueue]:
        """The queues that listening calls of streaming tools read, by call id; always the same mapping."""
        return self.background.running.streams

    def share(self, item: LiveRequest | Blob) -> None:
        """Pass the user's input on to the calls of streaming tools that listen, too."""
        self.background.copy(item)

    def revoke(self, ids: Iterable[str]) -> None:
        """The service wants no results of these calls: those that run are cancelled, and nothing is sent for them."""
        self.background.revoke(ids)

    def reconnect(self) -> None:
        """Continue over a new connection, by the handle."""
        if self.link is not None:
            self.link.switch()

    def restart(self, answer: Event | None = None) -> None:
        """Drop what the service knows: prepare again, and begin a new session with the current history.

        `answer` replaces the incoming response, once the steps have reported on that response.
        """
        self.restarts, self.answer = True, answer
        self.handle = None
        self.listen_no_more()

    def listen_no_more(self) -> None:
        """Leave the user's further input to the next session."""
        if self.link is not None:
            self.link.sender.stop()

    @property
    def due(self) -> bool:
        """Whether the model is to answer, or is answering."""
        return self.link is not None and (self.link.sender.due or self.link.speaking)

    def begin(self, link: Link) -> None:
        """`link` opens the connection, and reads it ahead."""
        resumption = self.request.stash[LIVE_CONFIG].session_resumption
        self.handle = resumption.handle if resumption is not None else None
        self.link = link
        link.start()

    async def hang_up(self) -> None:
        """Close the connection from this side; tools that run concurrently with the conversation end."""
        await self.background.end()
        if self.link is not None:
            await self.link.close()

    async def leave(self) -> None:
        """End what runs: the tools, and the connection."""
        await self.background.end()
        if self.link is not None:
            await self.link.leave()
            self._missed = self.link.sender.missed
            self.link = None
        self.unread = self.inbox.transcripts()
        self.inbox.close()

    def missed(self) -> list[Event]:
        """After `leave`: the event that reports an input that a step still had, which the next session does not get."""
        if not self._missed:
            return []
        self._missed = False
        return [refusal(self, _MISSED)]
