"""Link: the connections of a live run, one after the other; a task opens them, reads ahead and reconnects."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from newel.live.contract import LiveSession
from newel.live.deliveries import drop_repeats
from newel.live.inbox import media_size
from newel.live.kinds import LiveIn
from newel.live.losses import closed_normally, is_loss
from newel.live.sender import Sender
from newel.live.waiting import cancelled
from newel.models.contract import BaseLlm, BaseLlmConnection
from newel.models.live import CONNECTION_NUMBER, LIVE_CONFIG, ConnectionLostError
from newel_kernel import LlmRequest, LlmResponse, current_operation, seam
from newel_types import Content, HistoryConfig, SessionResumptionConfig

if TYPE_CHECKING:
    from newel.live.kinds import InStep

_log = logging.getLogger(__name__)
#: How long leaving a connection may take, in seconds; and how long a failed sender waits for the receiver's word on it.
LEAVING = 2.0
_LAST_WORDS = 1.0


class Link:
    """Passes the model's output to the session's inbox, and the user's input to the open connection."""

    __slots__ = ("_arrivals", "_switch", "_task", "attempts", "heard", "number", "sender", "session", "speaking")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.sender = Sender(session)
        self.number = 0
        self.attempts = 0
        #: Whether the model is in the middle of an answer.
        self.speaking = False
        #: When the service sent something last while an answer was due, on the loop's clock.
        self.heard = 0.0
        self._switch: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._arrivals: Sequence[InStep] = ()

    def start(self) -> None:
        """Start the tasks of the connection."""
        steps = [one.make(self.session) for one in self.session.ctx.composition.registry.all(LiveIn) if one.arriving]
        self._arrivals = [step for step in steps if step is not None]
        self._task = seam.spawn(self._run(), name="live connection")

    async def leave(self) -> None:
        """Close the connection and end; it takes `LEAVING` at most."""
        if self._task is not None:
            await cancelled([self._task], LEAVING + _LAST_WORDS)
            self.sender.end()

    async def close(self) -> None:
        """Close the connection from this side; the responses that are on their way still come."""
        if (connection := self.sender.connection) is not None:
            await connection.close()

    async def send(self, content: Content, *, partial: bool = False) -> None:
        """Send results of tools; while there is no connection, they wait for the next."""
        await self.sender.results(content, partial=partial)

    def switch(self) -> None:
        """Continue over another connection."""
        self.sender.connection = None
        if self._switch is not None and not self._switch.done():
            self._switch.set_result(None)

    async def _run(self) -> None:
        inbox = self.session.inbox
        try:
            while await self._connection():
                pass
        except Exception as error:  # noqa: BLE001 - the reader of the inbox raises it
            inbox.end(error)
        else:
            inbox.end()

    async def _connection(self) -> bool:
        """Hold one connection for as long as it lasts; return whether another one is to follow."""
        session = self.session
        self.number += 1
        resumes = self._configure()
        if (parent := current_operation.get()) is not None:
            name = session.request.model or session.model.model
            observed = parent.child("connection", name, session.ctx, session.model)
            return await observed.call(self._connected, resumes)
        return await self._connected(resumes)

    async def _connected(self, resumes: bool) -> bool:
        session = self.session
        try:
            async with opened(session.model, session.request) as connection:
                self.attempts = 0
                if session.request.contents and not resumes:
                    await connection.send_history(list(session.request.contents))
                return await self._hold(connection)
        except Exception as error:  # noqa: BLE001 - what is not a loss is raised again
            return await self._continues(error)

    def _configure(self) -> bool:
        """Write the handle to resume by into the request; return whether the session has one."""
        session, config = self.session, self.session.request.stash[LIVE_CONFIG]
        session.request.stash[CONNECTION_NUMBER] = self.number
        if session.handle:
            resumption = config.session_resumption or SessionResumptionConfig()
            config.session_resumption = resumption.model_copy(update={"handle": session.handle})
            return True
        if session.request.contents:
            history = config.history_config or HistoryConfig()
            if history.initial_history_in_client_content is None:  # the history has the model's answers already
                config.history_config = history.model_copy(update={"initial_history_in_client_content": True})
        return False

    async def _hold(self, connection: BaseLlmConnection) -> bool:
        loop = asyncio.get_running_loop()
        self._switch, self.heard, self.speaking = loop.create_future(), loop.time(), False
        receiver = seam.spawn(self._receive(connection), name="live receiver")
        sender = seam.spawn(self.sender.run(connection), name="live sender")
        try:
            working: set[asyncio.Future[Any]] = {receiver, sender, self._switch}
            while True:
                done, _ = await asyncio.wait(working, timeout=self._patience(), return_when=asyncio.FIRST_COMPLETED)
                if sender in done:
                    working.discard(sender)
                    await _outcome(sender, receiver)
                if receiver in done:
                    receiver.result()
                    return False
                if self._switch in done:
                    return True
                if not done:
                    self._check_silence()
        finally:
            await cancelled([receiver, sender], LEAVING)
            self.sender.lost(connection)
            for response in connection.rest():
                self.session.inbox.put(response)

    async def _receive(self, connection: BaseLlmConnection) -> None:
        """Read ahead until the connection has ended."""
        inbox, arrivals, sender = self.session.inbox, self._arrivals, self.sender
        clock = asyncio.get_running_loop().time
        heard = True
        while heard:
            heard = False
            async with aclosing(connection.receive()) as responses:
                async for response in responses:
                    heard = True
                    self.heard = clock() if sender.due else self.heard
                    sender.unanswered = None
                    if response.__class__ is not LlmResponse:
                        response = LlmResponse.model_validate(response)
                    content = response.content
                    if content is not None and content.parts and content.parts[0].inline_data is None:
                        drop_repeats(self.session.ctx, response)
                    if response.sparse_values is not LlmResponse.no_sparse:
                        if response.turn_complete or response.interrupted:
                            sender.due = False
                            self.speaking = False
                        for step in arrivals:
                            step(response)
                    elif response.content is not None:
                        self.speaking = True
                    if not inbox.hand(response) and not inbox.put(response, media_size(response)):
                        await inbox.room()
            await asyncio.sleep(0)

    def _patience(self) -> float | None:
        seconds = self.session.settings.silence_seconds
        if not seconds:
            return None
        silent = asyncio.get_running_loop().time() - self._since()
        return max(seconds - silent, 0.01) if self.sender.due else seconds

    def _since(self) -> float:
        return max(self.heard, self.sender.asked_at)

    def _check_silence(self) -> None:
        seconds = self.session.settings.silence_seconds
        if self.sender.due and asyncio.get_running_loop().time() - self._since() >= seconds:
            raise ConnectionLostError(
                f"the model {self.session.model.model!r} has sent nothing for {seconds:g} s while an answer was due "
                f"(connection {self.number}): try again, or set silence_seconds of the plugin live"
            )

    async def _continues(self, error: Exception) -> bool:
        """Whether another connection follows one that ended with `error`; raises `error` if the run has failed."""
        session = self.session
        if not is_loss(error):
            raise error
        if session.handle is None or session.queue.closed or self.attempts >= session.settings.reconnects:
            if closed_normally(error) and (session.handle is None or session.queue.closed):
                return False
            raise error
        pause = session.settings.reconnect_seconds * 2**self.attempts
        self.attempts += 1
        _log.info("the live connection %d was lost (%s); attempt %d", self.number, type(error).__name__, self.attempts)
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
        return True


async def _outcome(sender: asyncio.Task[None], receiver: asyncio.Task[None]) -> None:
    """Raise the sender's error; for a loss, rather the receiver's, which knows the service's last words."""
    error = sender.exception()
    if error is None:
        return
    if isinstance(error, Exception) and is_loss(error):
        await asyncio.wait([receiver], timeout=_LAST_WORDS)
        if receiver.done():
            receiver.result()
    raise error


@asynccontextmanager
async def opened(model: BaseLlm, request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
    """A connection; leaving it takes `LEAVING` at most, whatever the service does."""
    manager = model.connect(request)
    connection = await manager.__aenter__()
    try:
        yield connection
    finally:
        try:
            async with asyncio.timeout(LEAVING):
                await manager.__aexit__(None, None, None)
        except TimeoutError:
            _log.warning("the service did not close the connection to %r within %g s", model.model, LEAVING)
