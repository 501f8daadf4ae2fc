"""Traces: the spans of recent runs, for developers. Their number and their size are bounded; the oldest go first.

Each span belongs to a user's session of an app: of the session that the run was started in, also if an agent runs as a
tool, in a session of its own.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from pydantic_core import to_json

from newel.telemetry.attributes import agent_of, beginning, error_type, outcome, span_name
from newel_kernel import (
    Event,
    InvocationContext,
    Json,
    Observer,
    Operation,
    Signal,
    current_operation,
    hookimpl,
    seam,
)

_MOST_SPANS = 5_000
_MOST_BYTES = 32_000_000
#: A request or a response that is longer is left out of its span.
_MOST_BYTES_OF_A_TEXT = 256_000
#: JavaScript keeps integers exactly up to here.
_EXACT = (1 << 53) - 1
#: The attributes that say which event a call has made, and in which invocation.
EVENT = "gcp.vertex.agent.event_id"
#: The attributes of a model's call that are JSON.
REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
INVOCATION = "gcp.vertex.agent.invocation_id"


Place = tuple[str, str, str]


class Span:
    """An operation that has ended."""

    __slots__ = ("data", "kind", "place", "size")

    def __init__(self, place: Place, operation: Operation, data: Json) -> None:
        #: The app, the user and the session; the user is empty if the run had not begun.
        self.place = place
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
        #: The users of what runs, by the ids of the outermost operations.
        self._users: dict[str, str] = {}
        #: Invocation and agent -> the spans whose event has not come yet.
        self._without_event: dict[tuple[str, str], list[Span]] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def places(self, session_id: str) -> dict[Place, float]:
        """The apps and users whose sessions of that id have spans, and when the last one ended (Unix time)."""
        own = [one for one in self._spans if one.place[2] == session_id and one.place[1]]
        return {one.place: one.data["end_time"] / 1e9 for one in own}

    def of_session(self, place: Place) -> list[Json]:
        """The spans of a session."""
        return [one.data for one in self._spans if one.place == place]

    def of_event(self, app: str | None, user: str | None, event_id: str) -> Json | None:
        """The attributes of the call that made an event, of any app or user if they are None; None: it is not known."""
        for span in reversed(self._spans):
            is_theirs = app in (None, span.place[0]) and user in (None, span.place[1])
            if is_theirs and span.data["attributes"].get(EVENT) == event_id:
                attributes: Json = span.data["attributes"]
                return attributes
        return None

    def forget(self, place: Place) -> None:
        """Drop the spans of a session."""
        kept = [one for one in self._spans if one.place != place]
        self._spans = deque(kept)
        self._bytes = sum(one.size for one in kept)

    @hookimpl
    def register_observers(self) -> list[Observer]:
        """The observer of everything that runs."""
        return [Observer(name=self.name, notify=self._notify)]

    @hookimpl
    def before_run_callback(self, invocation_context: InvocationContext) -> None:
        """Note whose run it is."""
        if (operation := current_operation.get()) is not None:
            self._users.setdefault(_root(operation).id, invocation_context.session.user_id)

    @hookimpl
    async def on_event_callback(self, invocation_context: InvocationContext, event: Event) -> None:
        """Note which event a call has made."""
        if event.partial:
            return
        is_result = bool(event.get_function_responses())
        waiting = self._without_event.get((event.invocation_id, event.author), [])
        for span in [one for one in waiting if (one.kind != "model") is is_result]:
            span.data["attributes"][EVENT] = event.id
            waiting.remove(span)

    def _notify(self, signal: Signal) -> None:
        operation = signal.operation
        if signal.phase == "start":
            self._begun[operation.id] = _now()
            return
        root = _root(operation)
        begun = self._begun.pop(operation.id, _now())
        place = (root.name, self._users.get(root.id, ""), root.session_id)
        span = Span(place, operation, _data(signal, root, begun))
        self._keep(span)
        invocation = span.data["attributes"].get(INVOCATION, "")
        if operation.kind in ("model", "tool", "merge"):
            self._without_event.setdefault((invocation, agent_of(operation) or ""), []).append(span)
        elif operation is root:
            self._users.pop(root.id, None)
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
        attributes[REQUEST] = text_of(_request(operation.input))
        attributes[RESPONSE] = text_of(dumped(signal.outcome))
    if (error := error_type(signal, signal.error)) is not None:
        attributes["error.type"] = error
    return {
        "name": span_name(operation),
        "span_id": number_of(operation.id),
        "trace_id": number_of(root.id),
        "parent_span_id": number_of(operation.parent.id) if operation.parent is not None else None,
        "start_time": begun,
        "end_time": _now(),
        "attributes": attributes,
    }


def _request(request: Any) -> Json:
    return {
        "model": request.model,
        "config": {
            "system_instruction": dumped(request.config.system_instruction),
            "tools": sorted(getattr(request, "tools_dict", ())),
        },
        "contents": [dumped(content) for content in request.contents],
    }


def dumped(value: Any) -> Any:
    """A model as JSON; anything else unchanged."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if dump is not None else value


def text_of(value: object) -> str:
    """The JSON of a request or a response, unless it is too long."""
    data = to_json(value, inf_nan_mode="null", serialize_unknown=True)
    if len(data) > _MOST_BYTES_OF_A_TEXT:
        data = to_json({"omitted": f"{len(data)} bytes"})
    return data.decode("utf-8", "replace")


def number_of(id_: str) -> int:
    """The id of a span, as google-adk's are numbers."""
    digits = "".join(one for one in id_ if one in "0123456789abcdef")
    return int(digits[-13:] or "0", 16) & _EXACT


def _now() -> int:
    return int(seam.clock() * 1e9)
