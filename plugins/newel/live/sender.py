"""Sender: takes what the user says from the queue, through the steps of `live_out`, to the open connection."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from newel.live.kinds import LiveOut
from newel.live.losses import InvalidContentError, is_loss
from newel.live.queue import LiveRequest
from newel.live.waiting import OneAtATime
from newel.models.contract import BaseLlmConnection
from newel_kernel import seam
from newel_types import ActivityEnd, ActivityStart, Blob, Content, LiveClientRealtimeInput

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import OutStep
    from newel_kernel import Event

    #: What is sent: a blob or a mark; or a content, and whether it is a part of a turn.
    Input: TypeAlias = Blob | ActivityStart | ActivityEnd | LiveClientRealtimeInput | tuple[Content, bool]

#: After so many requests in a row, others have a turn.
_BREATH = 16
_log = logging.getLogger(__name__)


class Sender:
    """Sends inputs; those that a lost connection has not taken go to the next one, in order."""

    __slots__ = (
        "_blob_steps",
        "_one",
        "_refused",
        "_sent",
        "_steps",
        "_stopped",
        "_unconfirmed",
        "_unconfirmed_bytes",
        "_unsent",
        "_work",
        "asked_at",
        "connection",
        "due",
        "missed",
        "session",
        "unanswered",
    )

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.connection: BaseLlmConnection | None = None
        #: Whether the model is to answer something, and since when, on the loop's clock.
        self.due = False
        self.asked_at = 0.0
        #: The user's last input, until any response has arrived: the service may not have taken it.
        self.unanswered: Input | None = None
        #: Inputs that are not sent yet, and inputs that the service has not confirmed, with their numbers.
        self._unsent: deque[Input] = deque()
        self._unconfirmed: deque[tuple[int, Input, int]] = deque()
        self._unconfirmed_bytes = 0
        self._sent = 0
        self._stopped = False
        self._steps: Sequence[OutStep] = ()
        self._blob_steps: Sequence[OutStep] = ()
        self._one = OneAtATime()
        #: Why audio was refused.
        self._refused: set[str] = set()
        #: A request on its way through the steps that wait.
        self._work: asyncio.Task[Any] | None = None
        #: Whether a request was still in those steps when the session left further input to the next one.
        self.missed = False

    async def run(self, connection: BaseLlmConnection) -> None:
        """Send over `connection` until the queue is closed."""
        await self._begin(connection)
        queue, rounds = self.session.queue, 0
        while not self._stopped:
            if self._work is not None:
                item = await self._worked(self._work)
                if self._stopped and item is not None:
                    self.missed = True
                    return
            elif (item := queue.pop()) is None:
                await queue.arrival()
                continue
            else:
                item = self._through(item)
            if isinstance(item, Blob):
                await self._send(item)
                if (rounds := rounds + 1) % _BREATH == 0:
                    await asyncio.sleep(0)
            elif item is not None:
                await asyncio.sleep(0)  # what came before may be answered already
                if item.close:
                    await connection.close()
                    return
                for one in _inputs(item):
                    await self._send(one)

    async def _begin(self, connection: BaseLlmConnection) -> None:
        """Make the steps, with the first connection; send what the previous connection has not taken."""
        if not self._steps:
            stages = self.session.ctx.composition.registry.all(LiveOut)
            steps = [(one, step) for one in stages if (step := one.make(self.session)) is not None]
            self._steps, self._blob_steps = [step for _, step in steps], [step for one, step in steps if one.blobs]
        self.connection, self._sent = connection, 0
        await self._one.enter()
        try:
            while self._unsent:
                await self._give(connection, one := self._unsent[0])
                self._unsent.popleft()
                if (count := connection.inputs_taken) is not None:
                    self._keep(one, count)
        finally:
            self._one.leave()

    async def _worked(self, work: asyncio.Task[Any]) -> LiveRequest | Blob | None:
        """What is left of the request whose steps wait; a loss must not stop them half way."""
        item: LiveRequest | Blob | None = await asyncio.shield(work)
        self._work = None
        return item

    def stop(self) -> None:
        """Take nothing more from the queue."""
        self._stopped = True

    def end(self) -> None:
        """Nothing is sent any more."""
        if self._work is not None:
            self._work.cancel()
            self.missed = self._stopped

    async def results(self, content: Content, *, partial: bool) -> None:
        """Send results of tools, or keep them for the next connection."""
        await self._send((content, partial), quietly=True)

    def lost(self, connection: BaseLlmConnection) -> None:
        """`connection` has ended: what it has not taken is sent over the next."""
        self.connection = None
        if (count := connection.inputs_taken) is not None:
            again = [one for number, one, _ in self._unconfirmed if number > count]
        else:
            again = [self.unanswered] if self.unanswered is not None else []
        self._unsent.extendleft(reversed(again))
        self._unconfirmed.clear()
        self._unconfirmed_bytes, self.unanswered = 0, None

    def _through(self, item: LiveRequest | Blob) -> LiveRequest | Blob | None:
        """What is left of a request after the steps; None, too, if a step waits: then `_work` is set."""
        steps = iter(self._blob_steps if item.__class__ is Blob else self._steps)
        try:
            for step in steps:
                if (result := step(item)) is item:
                    continue
                if isawaitable(result):
                    self._work = seam.spawn(self._waiting(result, list(steps)), name="live request")
                    return None
                if result is None:
                    return None
                item = result
        except InvalidContentError:
            raise
        except ValueError as error:
            self._refuse(str(error), item)
            return None
        return item

    async def _waiting(self, first: Awaitable[Any], further: Sequence[OutStep]) -> LiveRequest | Blob | None:
        try:
            item = await first
            for step in further:
                if item is None:
                    return None
                result = step(item)
                item = await result if isawaitable(result) else result
        except InvalidContentError:
            raise
        except ValueError as error:
            self._refuse(str(error))
            return None
        return item  # type: ignore[no-any-return]

    def _refuse(self, why: str, what: object = None) -> None:
        """Tell the session that an input is not sent; it goes on. Audio comes often: once for each reason."""
        if isinstance(what, Blob):
            if why in self._refused:
                return
            self._refused.add(why)
        self.session.spawn(self.session.emit(refusal(self.session, why)), "refusal")

    async def _send(self, one: Input, *, quietly: bool = False) -> None:
        """Send it; with `quietly` a loss is not raised, as others see it, too."""
        connection = self.connection
        if connection is None:
            self._unsent.append(one)
            return
        try:
            if not self._one.enter_now():
                await self._one.enter()
            try:
                await self._give(connection, one)
                if (count := connection.inputs_taken) is not None:
                    self._keep(one, count)
            finally:
                self._one.leave()
        except ValueError as error:
            self._refuse(str(error), one)
        except BaseException as error:
            self._unsent.append(one)
            if not (quietly and is_loss(error)):
                raise

    def _give(self, connection: BaseLlmConnection, one: Input) -> Awaitable[None]:
        """The awaitable that sends it; a piece of sound gets no extra coroutine."""
        self._sent += 1
        return self._say(connection, *one) if isinstance(one, tuple) else connection.send_realtime(one)

    async def _say(self, connection: BaseLlmConnection, content: Content, partial: bool) -> None:
        await (connection.send_partial(content) if partial else connection.send_content(content))
        if not partial:
            self.due, self.asked_at = True, asyncio.get_running_loop().time()
            self.unanswered = content, partial

    def _keep(self, one: Input, count: int) -> None:
        size = len(one.data or b"") if isinstance(one, Blob) else 0
        pending = self._unconfirmed
        pending.append((self._sent, one, size))
        self._unconfirmed_bytes += size
        while pending and (pending[0][0] <= count or self._unconfirmed_bytes > self.session.settings.unconfirmed_bytes):
            self._unconfirmed_bytes -= pending.popleft()[2]


def refusal(session: LiveSession, why: str) -> Event:
    """The event that reports that an input has no effect; the session goes on."""
    _log.warning("an input of the live session is refused: %s", why)
    return session.event(error_code="INVALID_INPUT", error_message=why)


def _inputs(request: LiveRequest) -> list[Input]:
    """The parts of a request that are sent, in order."""
    inputs: list[Input] = []
    if request.activity_start is not None:
        inputs.append(ActivityStart())
    elif request.activity_end is not None:
        inputs.append(ActivityEnd())
    elif request.audio_stream_end:
        inputs.append(LiveClientRealtimeInput(audio_stream_end=True))
    elif request.blob is not None:
        inputs.append(request.blob)
    if request.content is not None:
        inputs.append((request.content, request.partial))
    return inputs
