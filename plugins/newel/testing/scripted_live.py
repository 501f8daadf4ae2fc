"""ScriptedLiveModel: a live model that plays a script, for tests of live agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import PrivateAttr

from newel.models.contract import BaseLlm, BaseLlmConnection
from newel.models.live import ConnectionLostError
from newel_kernel import LlmRequest, LlmResponse, ModelError
from newel_types import ActivityEnd, ActivityStart, Blob, Content, FunctionCall, Part


@dataclass(frozen=True, slots=True)
class WaitFor:
    """A step that waits until the client has sent `count` more inputs of a kind: see `ScriptedConnection.sent`."""

    kind: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """A step that waits, in seconds."""

    seconds: float


#: The service closes the connection normally.
CLOSED = Pause(-1)
#: The model's turn is over.
TURN_COMPLETE = LlmResponse(turn_complete=True)
Step = LlmResponse | FunctionCall | str | Blob | WaitFor | Pause | BaseException | Callable[[], Any]


class ScriptedConnection(BaseLlmConnection):
    """One connection of a ScriptedLiveModel."""

    def __init__(self, steps: Sequence[Step], *, acknowledges: bool = False) -> None:
        self._steps = list(steps)
        self._changed = asyncio.Event()
        self._waited: dict[str, int] = {}
        self._acknowledges = acknowledges
        self.closed = False
        #: What the client sent, in order: kind (history, content, partial, results, blob, activity_start, activity_end,
        #: audio_stream_end, close) and value.
        self.sent: list[tuple[str, Any]] = []
        if acknowledges:
            self.inputs_taken = 0

    def of(self, kind: str) -> list[Any]:
        """The inputs of a kind that the client sent."""
        return [value for one, value in self.sent if one == kind]

    def _took(self, kind: str, value: object) -> None:
        if self.closed and kind != "close":
            raise ConnectionLostError("the scripted connection is closed", 1000)
        self.sent.append((kind, value))
        if self._acknowledges and self.inputs_taken is not None and kind != "history":
            self.inputs_taken += 1
        self._changed.set()

    async def send_history(self, history: list[Content]) -> None:
        """Take the history."""
        self._took("history", history)

    async def send_content(self, content: Content) -> None:
        """Take a turn, or results."""
        results = any(part.function_response is not None for part in content.parts or ())
        self._took("results" if results else "content", content)

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        results = any(part.function_response is not None for part in content.parts or ())
        self._took("results" if results else "partial" if partial else "content", content)

    async def send_realtime(self, blob: Any) -> None:
        """Take a blob or a mark."""
        marks = {ActivityStart: "activity_start", ActivityEnd: "activity_end", Blob: "blob"}
        self._took(marks.get(type(blob), "audio_stream_end"), blob)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """Play the steps up to the end of a turn."""
        while self._steps and not self.closed:
            step = self._steps[0]
            if isinstance(step, WaitFor):
                await self._wait_for(step)
                if self.closed:
                    return
            elif isinstance(step, Pause) and step is not CLOSED:
                await asyncio.sleep(step.seconds)
            self._steps.pop(0)
            if step is CLOSED:
                self.closed = True
                return
            if (response := _response(step)) is not None:
                yield response
                if response.turn_complete:
                    return
        while not self.closed:
            await self._change()

    async def _wait_for(self, step: WaitFor) -> None:
        goal = self._waited.get(step.kind, 0) + step.count
        while len(self.of(step.kind)) < goal and not self.closed:
            await self._change()
        self._waited[step.kind] = goal

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def close(self) -> None:
        """Close; whatever waits for the client continues."""
        if not self.closed:
            self._took("close", True)
            self.closed = True


def _response(step: Step) -> LlmResponse | None:
    """What a step gives: a response, an error, or nothing."""
    if isinstance(step, BaseException):
        raise step
    if isinstance(step, (WaitFor, Pause)):
        return None
    if isinstance(step, LlmResponse):
        return step.model_copy()
    if isinstance(step, str):
        part = Part(text=step)
    elif isinstance(step, FunctionCall):
        part = Part(function_call=step.model_copy())
    elif isinstance(step, Blob):
        part = Part(inline_data=step)
    else:
        return _response(step())
    return LlmResponse(content=Content(role="model", parts=[part]))


class ScriptedLiveModel(BaseLlm):
    """A model whose n-th connection follows the n-th script.

    A step is a text, a Blob of audio, a FunctionCall or an LlmResponse, which the model says; `WaitFor(kind, count)`,
    which waits until the client has sent `count` more; `Pause(seconds)`; an exception, which is raised; `CLOSED`; or a
    function that gives one of these. A script whose first step is an exception cannot be connected to.
    `connections` are the opened connections, `requests` the requests for them.
    """

    model: str = "scripted-live"
    #: Whether connections say which inputs they have taken.
    acknowledges: bool = False

    _scripts: list[Sequence[Step]] = PrivateAttr(default_factory=list)
    _connections: list[ScriptedConnection] = PrivateAttr(default_factory=list)
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)
    _left: list[ScriptedConnection] = PrivateAttr(default_factory=list)

    def __init__(self, *scripts: Sequence[Step], **fields: Any) -> None:
        super().__init__(**fields)
        self._scripts = list(scripts)

    @property
    def connections(self) -> list[ScriptedConnection]:
        """The connections that were opened."""
        return self._connections

    @property
    def left(self) -> list[ScriptedConnection]:
        """The connections that the client has left."""
        return self._left

    @property
    def requests(self) -> list[LlmRequest]:
        """The requests with which connections were opened or attempted."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Refuse: the script is for connections."""
        raise ModelError(f"the model {self.model!r} answers over live connections only: use run_live")
        yield

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        """The next connection of the script."""
        self._requests.append(llm_request.model_copy(deep=True))
        if not self._scripts:
            raise ModelError(f"the script of {self.model!r} has no further connection")
        script = self._scripts.pop(0)
        if script and isinstance(script[0], BaseException):
            raise script[0]
        connection = ScriptedConnection(script, acknowledges=self.acknowledges)
        self._connections.append(connection)
        try:
            yield connection
        finally:
            self._left.append(connection)
