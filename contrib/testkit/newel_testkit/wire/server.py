"""WireServer: services of models on 127.0.0.1, strict and scripted.

with WireServer() as server:
    server.script(Answer(parts=({"text": "Hello."},)), fault("429", retry_after=1))
    ...  # a client with the base URL server.base["anthropic"]
    assert server.log[-1].refused is None
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import ClassVar, Protocol, TypeAlias

from newel_kernel import Json
from newel_testkit.wire.answers import LONG, Answer
from newel_testkit.wire.anthropic import AnthropicWire
from newel_testkit.wire.faults import Fault
from newel_testkit.wire.gemini import GeminiWire
from newel_testkit.wire.http import HttpServer, Logged, Reply
from newel_testkit.wire.openai_chat import ChatWire, CompatibleWire
from newel_testkit.wire.openai_responses import ResponsesWire
from newel_testkit.wire.reading import Reading
from newel_testkit.wire.schemas import RefusedError

#: What a request gets: an answer, a function that makes an answer from what the request says, or a fault.
Step: TypeAlias = Answer | Fault | Callable[[Reading], Answer]


class Wire(Protocol):
    """A protocol: what its service refuses, and how an answer looks."""

    name: ClassVar[str]
    #: The path of the base URL.
    base: str
    #: How the paths of requests below it begin.
    path: ClassVar[str]
    #: The header that names a request.
    request_id: ClassVar[str]
    #: How many events at a stream's end are its final marker.
    end_events: ClassVar[int]
    bad_event: ClassVar[bytes]

    def unsayable(self, model: str) -> frozenset[str]:
        """The kinds of losses (`losses`) that the protocol cannot avoid for a model; with a warning they are right."""

    def beside(self, request: Logged) -> Reply | None:
        """The reply to a request that takes no step of the script; None: it takes one."""

    def check(self, request: Logged) -> None:
        """Raise a RefusedError if the service would refuse the request."""

    def reading(self, request: Logged) -> Reading:
        """What an accepted request says."""

    def is_streamed(self, request: Logged) -> bool:
        """Whether the request asks for a stream."""

    def whole(self, answer: Answer, request: Logged) -> Json:
        """The answer in one piece."""

    def streamed(self, answer: Answer, request: Logged) -> list[bytes]:
        """The events of the answer."""

    def error(self, status: int, message: str) -> Json:
        """The body of an error."""

    def error_event(self, status: int, message: str) -> bytes:
        """An error in a stream."""

    def text_event(self, words: str) -> bytes:
        """An event with text."""


class WireServer(HttpServer):
    """Checks each request and answers with the next step of the script, whose last step repeats."""

    def __init__(self, wires: Sequence[Wire] | None = None, *, port: int = 0) -> None:
        super().__init__(self._answer, port)
        default: list[Wire] = [AnthropicWire(), ChatWire(), CompatibleWire(), ResponsesWire(), GeminiWire()]
        self._wires = list(wires) if wires is not None else default
        self._steps: list[Step] = []
        self._lock = threading.Lock()
        self._numbers = count(1)

    @property
    def base(self) -> dict[str, str]:
        """The base URL by protocol."""
        return {wire.name: self.url + wire.base for wire in self._wires}

    @property
    def wires(self) -> dict[str, Wire]:
        """The protocols by their names."""
        return {wire.name: wire for wire in self._wires}

    @property
    def bodies(self) -> list[Json]:
        """The bodies of the requests so far."""
        return [request.body for request in self.log]

    def script(self, *steps: Step) -> None:
        """Set what the next requests get; the log starts again."""
        with self._lock:
            self._steps = list(steps)
            self.log.clear()
            self.abandoned = 0
            self.left.clear()

    def _answer(self, request: Logged) -> Reply:
        wire = next((one for one in self._wires if request.path.startswith(one.base + one.path)), None)
        if wire is None:
            return Reply(status=404, body=json.dumps({"error": {"message": f"no such path: {request.path}"}}).encode())
        if (reply := wire.beside(request)) is not None:
            return reply
        headers = {wire.request_id: f"req_{next(self._numbers)}"}
        try:
            wire.check(request)
        except RefusedError as refused:
            request.refused = str(refused)
            body = json.dumps(wire.error(refused.status, request.refused)).encode()
            return Reply(status=refused.status, body=body, headers=headers)
        return self._reply(wire, request, headers)

    def _reply(self, wire: Wire, request: Logged, headers: dict[str, str]) -> Reply:
        """The reply to a request that is accepted."""
        with self._lock:
            step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Fault):
            return self._fault(wire, step, request, headers)
        return _good(wire, step if isinstance(step, Answer) else step(wire.reading(request)), request, headers)

    def _fault(self, wire: Wire, fault: Fault, request: Logged, headers: dict[str, str]) -> Reply:
        if fault.within:
            return self._within(wire, fault, request, headers)
        if fault.then != "end":
            return Reply(then=fault.then)
        if fault.huge:
            text = {"text": "H" * fault.huge}
            return _good(wire, LONG.having(parts=(text,), piece=1 << 20), request, headers)
        if fault.status == 302:
            headers["location"] = f"http://localhost:{self.port}/elsewhere"
        if fault.retry_after is not None:
            headers["retry-after"] = str(fault.retry_after)
        if fault.raw is not None:
            return Reply(status=fault.status, body=fault.raw, content_type=fault.content_type, headers=headers)
        body = wire.error(fault.status, fault.message or f"failed with {fault.status}")
        return Reply(status=fault.status, body=json.dumps(body).encode(), headers=headers)

    def _within(self, wire: Wire, fault: Fault, request: Logged, headers: dict[str, str]) -> Reply:
        """A stream that fails after half of its events; a whole answer does not."""
        if not wire.is_streamed(request):
            return _good(wire, LONG, request, headers)
        events = wire.streamed(LONG, request)
        half = events[: len(events) // 2]
        if fault.then != "end":
            return Reply(events=events, then=fault.then, after=len(half), headers=headers, pause=0.002)
        if fault.event == "no_end":
            return Reply(events=events[: -wire.end_events], headers=headers)
        last = {
            "error": wire.error_event(529, fault.message or "Overloaded"),
            "bad_json": wire.bad_event,
            "huge": wire.text_event("H" * fault.huge),
        }[fault.event]
        return Reply(events=[*half, last], headers=headers)


def _good(wire: Wire, answer: Answer, request: Logged, headers: dict[str, str]) -> Reply:
    if not wire.is_streamed(request):
        body = json.dumps(wire.whole(answer, request), ensure_ascii=False).encode()
        return Reply(body=body, headers=headers)
    events = wire.streamed(answer, request)
    if answer.split:
        joined = b"".join(events)
        events = [joined[start : start + 5] for start in range(0, len(joined), 5)]
    return Reply(events=events, headers=headers, pause=answer.pause)
