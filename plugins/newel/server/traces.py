"""Traces: the spans of recent runs, for developers. Their number and their size are bounded; the oldest go first."""

from __future__ import annotations

from collections import deque
from typing import Any

from pydantic_core import to_json

from newel.telemetry.attributes import agent_of, beginning, error_type, outcome, span_name
from newel_kernel import Event, InvocationContext, Json, Observer, Operation, Signal, hookimpl, seam

_MOST_SPANS = 5_000
_MOST_BYTES = 32_000_000
#: A request or a response that is longer is left out of its span.
_MOST_BYTES_OF_A_TEXT = 256_000
#: JavaScript keeps integers exactly up to here.
_EXACT = (1 << 53) - 1
_EVENT = "gcp.vertex.agent.event_id"


class Span:
    """An operation that has ended."""

    __slots__ = ("app", "data", "kind", "session", "size")

    def __init__(self, app: str, operation: Operation, data: Json) -> None:
        self.app = app
        self.session = operation.session_id
        self.kind = operation.kind
        self.data = data
        self.size = 500 + sum(len(value) for value in data["attributes"].values() if isinstance(value, str))


class Traces:
    """A plugin that keeps the spans of what runs, and the event that each model call and tool call has made."""

    name = "server_traces"

    def __init__(self, most_spans: int = _MOST_SPANS, most_bytes: int = _MOST_BYTES) -> None:
        self._most_spans, self._most_bytes = most_spans, most_bytes
        self._spans: deque[Span] = deque()
        self._bytes = 0
        #: The beginnings of what runs, by the ids of the operations.
        self._begun: dict[str, int] = {}
        #: Invocation and agent -> the spans whose event has not come yet.
        self._without_event: dict[tuple[str, str], list[Span]] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def of_session(self, app: str | None, session_id: str) -> list[Json]:
        """The spans of an app's sessions of that id (of every app if it is None), in the order in which they began."""
        found = [one.data for one in self._spans if one.session == session_id and app in (None, one.app)]
        return sorted(found, key=lambda span: (span["start_time"], -span["end_time"]))

    def of_event(self, app: str | None, event_id: str) -> Json | None:
        """The attributes of the call that made an event; None: it is not known."""
        for span in reversed(self._spans):
            if app in (None, span.app) and span.data["attributes"].get(_EVENT) == event_id:
                attributes: Json = span.data["attributes"]
                return attributes
        return None

    @hookimpl
    def register_observers(self) -> list[Observer]:
        """The observer of everything that runs."""
        return [Observer(name=self.name, notify=self._notify)]

    @hookimpl
    async def on_event_callback(self, invocation_context: InvocationContext, event: Event) -> None:
        """Note which event a call has made."""
        if event.partial:
            return
        is_result = bool(event.get_function_responses())
        waiting = self._without_event.get((event.invocation_id, event.author), [])
        for span in [one for one in waiting if (one.kind != "model") is is_result]:
            span.data["attributes"][_EVENT] = event.id
            waiting.remove(span)

    def _notify(self, signal: Signal) -> None:
        operation = signal.operation
        if signal.phase == "start":
            self._begun[operation.id] = _now()
            return
        root = _root(operation)
        begun = self._begun.pop(operation.id, _now())
        span = Span(root.name, operation, _data(signal, root, begun))
        self._keep(span)
        invocation = span.data["attributes"].get("gcp.vertex.agent.invocation_id", "")
        if operation.kind in ("model", "tool", "merge"):
            self._without_event.setdefault((invocation, agent_of(operation) or ""), []).append(span)
        elif operation is root:
            for key in [key for key in self._without_event if key[0] == invocation]:
                del self._without_event[key]

    def _keep(self, span: Span) -> None:
        self._spans.append(span)
        self._bytes += span.size
        while len(self._spans) > self._most_spans or self._bytes > self._most_bytes:
            self._bytes -= self._spans.popleft().size


def _root(operation: Operation) -> Operation:
    while operation.parent is not None:
        operation = operation.parent
    return operation


def _data(signal: Signal, root: Operation, begun: int) -> Json:
    operation = signal.operation
    attributes = {**beginning(operation), **outcome(signal)}
    if operation.kind == "model":
        attributes["gcp.vertex.agent.llm_request"] = _text(_request(operation.input))
        attributes["gcp.vertex.agent.llm_response"] = _text(_dumped(signal.outcome))
    if (error := error_type(signal, signal.error)) is not None:
        attributes["error.type"] = error
    return {
        "name": span_name(operation),
        "span_id": _number(operation.id),
        "trace_id": _number(root.id),
        "parent_span_id": _number(operation.parent.id) if operation.parent is not None else None,
        "start_time": begun,
        "end_time": _now(),
        "attributes": attributes,
    }


def _request(request: Any) -> Json:
    return {
        "model": request.model,
        "config": {
            "system_instruction": _dumped(request.config.system_instruction),
            "tools": sorted(getattr(request, "tools_dict", ())),
        },
        "contents": [_dumped(content) for content in request.contents],
    }


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if dump is not None else value


def _text(value: object) -> str:
    data = to_json(value, inf_nan_mode="null", serialize_unknown=True)
    if len(data) > _MOST_BYTES_OF_A_TEXT:
        data = to_json({"omitted": f"{len(data)} bytes"})
    return data.decode("utf-8", "replace")


def _number(id_: str) -> int:
    """The id of a span, as google-adk's are numbers."""
    digits = "".join(one for one in id_ if one in "0123456789abcdef")
    return int(digits[-13:] or "0", 16) & _EXACT


def _now() -> int:
    return int(seam.clock() * 1e9)
