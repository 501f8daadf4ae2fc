"""OpenAIRealtimeConnection: a live connection through the openai SDK."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from newel.models.live import CONNECTION_NUMBER, LIVE_CONFIG, ConnectionLostError
from newel.models.openai.client import Sdk
from newel.models.openai.realtime.reading import Reader
from newel.models.openai.realtime.sending import Frames
from newel.models.openai.realtime.session import manner, session
from newel.models.openai.realtime.turns import Turns
from newel.models.openai.thinking import Report
from newel.models.wire.connections import SETUP_PATIENCE, SHOWN, UNREADABLE, SocketConnection
from newel.models.wire.disconnects import connecting
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel.models.wire.sockets import LiveSocket, noting
from newel_kernel import Json, LlmRequest, LlmResponse, ModelError, seam
from newel_types import Content, LiveConnectConfig

_SETUP = "newel_setup"


class OpenAIRealtimeConnection(SocketConnection):
    """Reads and writes the events of a connection that the SDK has opened, without an object for each."""

    def __init__(self, socket: LiveSocket, frames: Frames, reader: Reader, early: Sequence[bytes]) -> None:
        super().__init__(socket, frames)
        self._frames = frames
        self._reader = reader
        #: The frames that came while the session was set up.
        self._early = deque(early)

    async def send_history(self, history: list[Content]) -> None:
        """See `BaseLlmConnection`."""
        await self._send(self._frames.history(history))

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """See `BaseLlmConnection`."""
        ended, lost = False, None
        while not ended:
            try:
                frame = await self._frame()
            except TimeoutError:
                responses = self._reader.order.give_up()
            except ConnectionLostError as error:
                responses, ended, lost = self.rest(), True, error
            else:
                ended = not isinstance(frame, bytes)  # nothing more comes
                responses = self._read(frame) if isinstance(frame, bytes) else [*self.rest(), *filter(None, [frame])]
            if self._reader.outgoing and not ended:
                events, self._reader.outgoing = self._reader.outgoing, []
                await self._send([json.dumps(event) for event in events])
            for response in responses:
                ended = ended or bool(response.turn_complete)
                yield response
        if lost is not None:
            raise lost

    def rest(self) -> list[LlmResponse]:
        """See `BaseLlmConnection`."""
        return self._reader.rest()

    async def _frame(self) -> bytes | LlmResponse | None:
        """The next frame; TimeoutError once what is held back has waited long enough."""
        if self._early:
            return self._early.popleft()
        if (patience := self._reader.order.patience) is None:
            return await self._socket.recv()
        async with asyncio.timeout(patience):
            return await self._socket.recv()

    async def _send(self, frames: Sequence[str]) -> None:
        for frame in frames:
            await self._socket.send(frame)

    def _read(self, frame: bytes) -> list[LlmResponse]:
        try:
            event = json.loads(frame)
            if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                raise ValueError(f"not an event: {frame[:SHOWN]!r}")
            return self._reader.read(event)
        except UNREADABLE as error:
            return [self._unreadable(error)]


@dataclass(frozen=True, slots=True)
class Target:
    """The model that a connection goes to, and the settings for it."""

    service: Service
    names: Names
    transcriber: str
    frame_bytes: int
    #: Arguments for the library's ``connect``.
    options: Json
    report: Report


@asynccontextmanager
async def opened(sdk: Sdk, target: Target, request: LlmRequest) -> AsyncIterator[OpenAIRealtimeConnection]:
    """A connection through ``client.realtime`` of the SDK; it is closed on leaving."""
    service, number = target.service, request.stash[CONNECTION_NUMBER]
    settings = session(request, target.names, target.report, target.transcriber)
    manager = sdk.realtime.connect(model=service.model, websocket_connection_options=target.options)
    with connecting(service, number), noting() as sockets:
        async with asyncio.timeout(SETUP_PATIENCE):
            await manager.__aenter__()
    socket = LiveSocket(sockets[-1], service, number, target.frame_bytes)
    try:
        with connecting(service, number):
            async with asyncio.timeout(SETUP_PATIENCE):
                early = await _set_up(socket, settings, service)
        yield _connection(socket, target, request.stash[LIVE_CONFIG], early)
    finally:
        async with socket.closing():
            await manager.__aexit__(None, None, None)


async def _set_up(socket: LiveSocket, settings: Json, service: Service) -> list[bytes]:
    """Configure the session; return the frames that the service sent until it had accepted that."""
    with suppress(ConnectionLostError):  # the next frame says why
        await socket.send(json.dumps({"type": "session.update", "event_id": _SETUP, "session": settings}))
    frames: list[bytes] = []
    while True:
        frame = await socket.recv()
        if not isinstance(frame, bytes):
            failure = frame or LlmResponse()  # nothing else closes the socket
            raise ModelError(
                failure.error_message or "", code=failure.error_code, provider=service.provider, model=service.model
            )
        event = json.loads(frame)
        frames.append(frame)
        if event.get("type") == "session.updated":
            return frames
        error = event.get("error") or {}
        if event.get("type") == "error" and error.get("event_id") in (_SETUP, None):
            raise service.failed(str(error.get("code") or error.get("type")), str(error.get("message")))


def _connection(
    socket: LiveSocket, target: Target, config: LiveConnectConfig, early: Sequence[bytes]
) -> OpenAIRealtimeConnection:
    def fail(code: str, what: str) -> LlmResponse:
        return socket.failure(code, what, "the session continues; see the service's documentation of this code")

    turns, behaviour = Turns(seam.monotonic), manner(config)
    reader = Reader(target.service.model, target.names, turns, behaviour, fail)
    return OpenAIRealtimeConnection(socket, Frames(target.names, target.report, turns, behaviour), reader, early)
