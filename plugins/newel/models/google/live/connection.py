"""GeminiLiveConnection: a live connection through the google-genai SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module

from newel.models.google.history import Dialect
from newel.models.google.live.reading import Reader
from newel.models.google.live.sending import Frames
from newel.models.google.live.setup import Report, setup, supported
from newel.models.google.sdk import Json, Live
from newel.models.live import CONNECTION_NUMBER, ConnectionLostError
from newel.models.wire.arrivals import Arrivals
from newel.models.wire.connections import SETUP_PATIENCE, SHOWN, UNREADABLE, SocketConnection
from newel.models.wire.disconnects import connecting, signed
from newel.models.wire.service import Service
from newel.models.wire.sockets import LiveSocket, noting
from newel_kernel import LlmRequest, LlmResponse
from newel_types import ActivityEnd, ActivityStart, Content, SpeechConfig

#: How long calls wait in silence for the end of their turn, in seconds: some models want results before they end it.
_CALL_PATIENCE = 0.3
_MESSAGE_KEYS = frozenset(
    (
        "setupComplete",
        "serverContent",
        "toolCall",
        "toolCallCancellation",
        "usageMetadata",
        "goAway",
        "sessionResumptionUpdate",
        "voiceActivityDetectionSignal",
        "voiceActivity",
    )
)


class GeminiLiveConnection(SocketConnection):
    """Reads and writes the frames of a session that the SDK has set up.

    The SDK would make an object of each message, which costs more than all other work on it.
    """

    def __init__(
        self, socket: LiveSocket, frames: Frames, reader: Reader, *, initial_history: bool, confirmed: bool
    ) -> None:
        super().__init__(socket, frames)
        self._frames = frames
        self._reader = reader
        self._initial_history = initial_history
        self._unknown: set[str] = set()
        #: How many frames the history took; None: no history was sent. Every later input is one frame.
        self._history_frames: int | None = None
        #: Set if the service does not say which input it has taken, and the session may continue on another connection.
        self._arrivals = Arrivals(socket, self._arrived) if confirmed else None
        if confirmed:
            self.inputs_taken = 0

    async def send_history(self, history: list[Content]) -> None:
        """See `BaseLlmConnection`."""
        frames = self._frames.history(history, initial=self._initial_history)
        self._history_frames = len(frames)
        await self._send(frames)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """See `BaseLlmConnection`."""
        ended, lost = False, None
        while not ended:
            try:
                async with asyncio.timeout(_CALL_PATIENCE if self._reader.has_calls else self._reader.order.patience):
                    frame = await self._socket.recv()
            except TimeoutError:
                responses = self._reader.calls() if self._reader.has_calls else self._reader.late()
            except ConnectionLostError as error:
                responses, ended, lost = self.rest(), True, error
            else:
                responses = self._read(frame) if isinstance(frame, bytes) else self._last(frame)
                ended = not isinstance(frame, bytes)
            for response in responses:
                ended = ended or bool(response.turn_complete)
                yield response
        if lost is not None:
            raise lost

    def rest(self) -> list[LlmResponse]:
        """See `BaseLlmConnection`."""
        return self._reader.rest()

    async def send_realtime(self, blob: object) -> None:
        """See `BaseLlmConnection`."""
        if not isinstance(blob, ActivityStart | ActivityEnd):
            self._reader.listens = True
        await super().send_realtime(blob)

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        self._reader.listens = False  # it answers what is written, or the results of tools
        await super()._send_content(content, partial=partial)

    def _last(self, reason: LlmResponse | None) -> list[LlmResponse]:
        """What is told as nothing more comes, and why it does not."""
        return [*self.rest(), *([reason] if reason is not None else [])]

    def _read(self, frame: bytes) -> list[LlmResponse]:
        try:
            message = json.loads(frame)
            if not isinstance(message, dict):
                raise ValueError(f"not an object: {frame[:SHOWN]!r}")
            if message and _MESSAGE_KEYS.isdisjoint(message):
                return self._unexpected(message)
            responses = self._reader.read(message)
        except UNREADABLE as error:
            return [self._unreadable(error)]
        update = message.get("sessionResumptionUpdate")
        if update is not None and update.get("lastConsumedClientMessageIndex") is not None:
            self._take(int(update["lastConsumedClientMessageIndex"]))
        return responses

    def _unexpected(self, message: Json) -> list[LlmResponse]:
        """An error that the service reports, or one for an unknown message, once for each kind."""
        error = message.get("error", message)
        if isinstance(error, dict) and "code" in error:
            what = f"reported an error: {error.get('message') or 'no message'}"
            return [self._socket.failure(str(error["code"]), what, "see the service's documentation of this code")]
        kind = ", ".join(sorted(message))[:SHOWN]
        if kind in self._unknown:
            return []
        self._unknown.add(kind)
        what = f"sent a message of an unknown kind ({kind})"
        return [self._socket.failure("UNKNOWN_MESSAGE", what, "it was left out; a newer release may know it")]

    async def _send(self, frames: Sequence[str]) -> None:
        if self._arrivals is not None:
            await self._arrivals.send(frames)
            return
        for frame in frames:
            await self._socket.send(frame)

    def _arrived(self, inputs: int) -> None:
        self.inputs_taken = inputs

    def _take(self, index: int) -> None:
        """Note that the service has taken the messages up to `index`; the setup is number 0."""
        history = self._history_frames
        self.inputs_taken = index if history is None else max(0, index - history + 1)


@dataclass(frozen=True, slots=True)
class Target:
    """The model that a connection goes to, and the settings for it."""

    service: Service
    dialect: Dialect
    #: The model's own voice, which wins over that of the request.
    speech: SpeechConfig | None
    frame_bytes: int
    #: Whether to find out which input has arrived if the service does not say so.
    confirms: bool
    report: Report


@asynccontextmanager
async def opened(live: Live, target: Target, request: LlmRequest) -> AsyncIterator[GeminiLiveConnection]:
    """A connection through ``client.aio.live`` of the SDK; it is closed on leaving."""
    service, number = target.service, request.stash[CONNECTION_NUMBER]
    fields = import_module("google.genai.types").LiveConnectConfig.model_fields
    config = setup(request, target.speech, target.report, vertex=target.dialect.vertex)
    config = supported(config, fields, target.report)
    session = live.connect(model=service.model, config=config)
    with noting() as sockets, connecting(service, number, sockets):
        async with asyncio.timeout(SETUP_PATIENCE):
            entered = await session.__aenter__()
    socket = LiveSocket(sockets[-1], signed(service, sockets), number, target.frame_bytes)
    frames = Frames(service.model, target.dialect)
    hears = config.get("input_audio_transcription") is not None
    reader = Reader(service.model, entered.session_id, newer=frames.newer, hears=hears)
    history = bool((config.get("history_config") or {}).get("initial_history_in_client_content"))
    resumption = config.get("session_resumption")
    confirmed = target.confirms and resumption is not None and not resumption.get("transparent")
    try:
        yield GeminiLiveConnection(socket, frames, reader, initial_history=history, confirmed=confirmed)
    finally:
        async with socket.closing():
            await session.__aexit__(None, None, None)
