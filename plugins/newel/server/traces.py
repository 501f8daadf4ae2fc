"""Traces: the spans of recent runs, for developers. Their number and their size are bounded; the oldest go first.

Each span belongs to a user's session of an app: of the session that the run was started in, also if an agent runs as a
tool, in a session of its own.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Any

from pydantic_core import to_json

from newel.models.policies.model_costs import token_price, window_of
from newel.server.adk_spans import beginning, error_type, outcome, span_name
from newel.server.failures import ERROR, FRAMES, failure_of, words_of
from newel.telemetry.attributes import agent_of
from newel_kernel import (
    Context,
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
#: Seconds from the beginning of a model's call to its first chunk; absent: it did not stream.
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
#: How many tokens the model's context window holds, if that is known.
WINDOW = "newel.context_window"
#: US dollars for a token of input, and for one that is read from the cache, if they are known.
PRICE, CACHED_PRICE = "newel.input_price", "newel.cached_price"

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
        #: The contexts of what runs, by the ids of the outermost operations.
        self._contexts: dict[str, InvocationContext] = {}
        #: Invocation and agent -> the spans whose event has not come yet.
        self._without_event: dict[tuple[str, str], list[Span]] = {}
        #: Invocation and agent -> when the first chunk of the model's call that runs has come.
        self._first_chunks: dict[tuple[str, str], int] = {}
        #: Invocation and call -> how a tool failed, which its result does not hold.
        self._failures: dict[tuple[str, str | None], Json] = {}

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
            self._contexts.setdefault(_root(operation).id, invocation_context)

    @hookimpl
    async def on_event_callback(self, invocation_context: InvocationContext, event: Event) -> None:
        """Note which event a call has made."""
        if event.partial:
            self._first_chunks.setdefault((event.invocation_id, event.author), _now())
            return
        is_result = bool(event.get_function_responses())
        waiting = self._without_event.get((event.invocation_id, event.author), [])
        for span in [one for one in waiting if (one.kind != "model") is is_result]:
            span.data["attributes"][EVENT] = event.id
            waiting.remove(span)

    @hookimpl(tryfirst=True)
    def on_tool_error_callback(self, tool_context: Context, error: Exception) -> None:
        """Note the error of a tool before it becomes a result."""
        key = tool_context.invocation_id, tool_context.function_call_id
        self._failures[key] = failure_of(error, tool_context.get_invocation_context())

    def _notify(self, signal: Signal) -> None:
        operation = signal.operation
        if signal.phase == "start":
            self._begun[operation.id] = _now()
            return
        root = _root(operation)
        begun = self._begun.pop(operation.id, _now())
        context = self._contexts.get(root.id)
        place = (root.name, context.session.user_id if context is not None else "", root.session_id)
        data = _data(signal, root, begun)
        invocation = data["attributes"].get(INVOCATION, "")
        self._add_failure(data["attributes"], signal, context)
        self._add_of_call(data, operation, invocation)
        span = Span(place, operation, data)
        self._keep(span)
        if operation.kind in ("model", "tool", "merge"):
            self._without_event.setdefault((invocation, agent_of(operation) or ""), []).append(span)
        elif operation is root:
            self._contexts.pop(root.id, None)
            for notes in (self._without_event, self._first_chunks, self._failures):
                _drop(notes, invocation)

    def _add_failure(self, attributes: Json, signal: Signal, context: InvocationContext | None) -> None:
        if signal.operation.kind == "retry":
            attributes[ERROR] = words_of(signal.operation.input, context)
        if isinstance(signal.error, Exception):
            attributes.update(failure_of(signal.error, context))

    def _add_of_call(self, data: Json, operation: Operation, invocation: str) -> None:
        """Add what other hooks have seen of a call."""
        attributes = data["attributes"]
        if operation.kind == "model":
            first = self._first_chunks.pop((invocation, agent_of(operation) or ""), None)
            if first is not None and first >= data["start_time"]:
                attributes[FIRST_CHUNK] = (first - data["start_time"]) / 1e9
        elif operation.kind == "tool" and FRAMES not in attributes:
            attributes.update(self._failures.pop((invocation, operation.input.id), {}))

    def _keep(self, span: Span) -> None:
        self._spans.append(span)
        self._bytes += span.size
        while len(self._spans) > self._most_spans or self._bytes > self._most_bytes:
            self._bytes -= self._spans.popleft().size


def _drop(notes: dict[Any, Any], invocation: str) -> None:
    for key in [key for key in notes if key[0] == invocation]:
        del notes[key]


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
        model = attributes.get("gen_ai.response.model") or operation.name
        attributes |= _known_of(getattr(operation.subject, "provider", ""), model)
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


@lru_cache(maxsize=512)
def _known_of(provider: str, model: str) -> Json:
    """What is known of a model: its context window and its prices."""
    known: Json = {}
    if (window := window_of(provider, model)) is not None:
        known[WINDOW] = window
    if (price := token_price(provider, model)) is not None:
        known[PRICE] = price
        known[CACHED_PRICE] = token_price(provider, model, cached=True)
    return known


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
