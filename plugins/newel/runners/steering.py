"""Steering a run: a message that is stored at once, and told to the agent that is at work or answered after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from newel import claims
from newel.sessions.out_of_band import OutOfBand
from newel.turns.steering import STEERS, told_by
from newel_kernel import (
    BaseAgent,
    ConfigurationError,
    Event,
    InvocationContext,
    Json,
    Message,
    NewelError,
    RunConfig,
    StaleSessionError,
    received,
)

if TYPE_CHECKING:
    from newel.runners.runner import Runner

Events = AsyncGenerator[Event, None]
#: How often it is looked whether a message was told, in seconds.
_POLL_SECONDS = 0.05


class Steering:
    """One message to a session that a run may have."""

    def __init__(self, runner: Runner, user_id: str, session_id: str, message: Message, config: RunConfig) -> None:
        self.runner = runner
        self.where: Json = {"app_name": runner.app_name, "user_id": user_id, "session_id": session_id}
        self.message = message
        self.config = config

    async def events(self) -> Events:
        """The events of the run that the message gets for itself; none if the run under way is told."""
        if not await self._is_busy():
            try:
                async with aclosing(self._run(self.message)) as run:
                    async for event in run:
                        yield event
                return
            except _BusyError:  # another run was quicker
                pass
        stored = await self._stored()
        for event in stored if self.message.yielded else ():
            yield event
        while not await self._is_told(stored):
            if not await self._is_busy():
                try:
                    async with aclosing(self._run(Message(mode=_Told(stored)))) as run:
                        async for event in run:
                            yield event
                    return
                except (_BusyError, _AlreadyToldError):
                    continue
            await asyncio.sleep(_POLL_SECONDS)

    async def _run(self, message: Message) -> Events:
        where = self.where
        run = self.runner.invoke(where["user_id"], where["session_id"], message, self.config)
        begun = False
        async with aclosing(run):
            try:
                async for event in run:
                    begun = True
                    yield event
            except claims.SessionBusyError as error:
                if begun:
                    raise
                raise _BusyError from error
            except StaleSessionError as error:
                if begun or getattr(error.event, "author", "") != "user":
                    raise
                raise _BusyError from error  # a run of another process came and went: the message is not stored

    async def _is_busy(self) -> bool:
        """Whether a run has the session, in this process or in another one."""
        service = self.runner.session_service
        if claims.is_claimed(service, **self.where):
            return True
        if not claims.is_leasing(service):
            return False
        session = await self.runner.session_service.open(**self.where)
        return session is not None and service.holder(session) is not None

    async def _stored(self) -> Sequence[Event]:
        """The events of the message, stored while the run goes on."""
        service = self.runner.session_service
        store = OutOfBand(service)
        content = received(self.message.content)
        if any(part.function_response is not None for part in content.parts or ()):
            raise ConfigurationError("an answer to a call does not steer a run: send it with run_async, after its end")
        if claims.is_claimed_here(service, **self.where):
            raise ConfigurationError(
                "a tool waits for itself if it steers its own run: return what is to be said, or steer in another task"
            )
        session = await service.open(**self.where)
        assert session is not None, "a run has it"
        config = self.config.model_copy()
        config.custom_metadata = {**(config.custom_metadata or {}), STEERS: True}
        return await self.runner.take_in(session, Message(content, None, self.message.state_delta), config, store)

    async def _is_told(self, messages: Sequence[Event]) -> bool:
        session = await self.runner.session_service.open(**self.where)
        return session is None or _tells(session.events, messages)


def _tells(events: Sequence[Event], messages: Sequence[Event]) -> bool:
    """Whether a note about the last of the messages follows it."""
    wanted = messages[-1].id
    for event in reversed(events):
        if event.id == wanted:
            return False
        if wanted in told_by(event):
            return True
    return True  # a rewind or a deletion has taken it back


class _Told:
    """The mode of a run for messages that are stored already."""

    def __init__(self, messages: Sequence[Event]) -> None:
        self.messages = messages

    def enter(self, ctx: InvocationContext) -> None:
        """Make the context that of the messages' invocation; the run itself is as any other."""
        if _tells(ctx.session.events, self.messages):
            raise _AlreadyToldError
        ctx.mode = None
        ctx.invocation_id, ctx.user_content = self.messages[0].invocation_id, self.messages[0].content

    def start(self, agent: BaseAgent, ctx: InvocationContext) -> Events:
        """Not called: the context has no mode."""
        raise NotImplementedError

    def stores(self, event: Event) -> bool:
        """All of them."""
        return True

    def finish(self, ctx: InvocationContext, error: BaseException | None) -> bool:
        """Not called either."""
        return True


class _BusyError(NewelError):
    """Another run has the session."""


class _AlreadyToldError(NewelError):
    """Another run has told the message meanwhile."""
