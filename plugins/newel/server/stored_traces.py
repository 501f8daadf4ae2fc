"""Stored traces: the spans of runs that nobody watched, as far as the events of their session tell.

A model's call lasts from the event before it to its own, a tool's from the event that calls it to that of its result.
What was never stored is not known: the instruction, the declared tools, attempts that failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from newel.models.policies.model_costs import window_of
from newel.server.adk_spans import of_response
from newel.server.redaction import without_secrets
from newel.server.traces import EVENT, INVOCATION, REQUEST, RESPONSE, WINDOW, Place, dumped, text_of
from newel_kernel import Event, Json, Session

#: The most bytes of requests in an answer: each one repeats the conversation before it.
_MOST_BYTES = 4_000_000
#: An event as the model's response that it was.
_AS_RESPONSE: dict[str, Any] = {
    "mode": "json",
    "by_alias": True,
    "exclude_none": True,
    "include": {"content", "usage_metadata", "finish_reason", "error_code", "error_message", "model_version"},
}


class StoredTraces:
    """The spans of one session's runs."""

    def __init__(self, session: Session) -> None:
        self._events = session.events
        self._place: Place = (session.app_name, session.user_id, session.id)
        self._bytes = 0

    def spans(self, without: Collection[str] = ()) -> list[Json]:
        """The spans of all invocations but those."""
        invocations: dict[str, list[int]] = {}
        for position, event in enumerate(self._events):
            if event.invocation_id not in without:
                invocations.setdefault(event.invocation_id, []).append(position)
        return [span for id_, positions in invocations.items() for span in self._invocation(id_, positions)]

    def of_event(self, event_id: str) -> Json | None:
        """The attributes of the call that made an event; None: the session has no such event."""
        invocation = next((one.invocation_id for one in self._events if one.id == event_id), None)
        positions = [n for n, one in enumerate(self._events) if one.invocation_id == invocation]
        spans = self._invocation(invocation, positions) if invocation is not None else ()
        return next((one["attributes"] for one in spans if one["attributes"].get(EVENT) == event_id), None)

    def _invocation(self, id_: str, positions: Sequence[int]) -> Iterator[Json]:
        """The spans of an invocation: of itself, its agents, their calls; none if it only changed the state."""
        events = self._events
        if all(events[position].content is None for position in positions):
            return
        first = events[positions[0]]
        latest = _nanoseconds(first.timestamp)
        root = self._span("invocation", id_, None, latest, {"gen_ai.operation.name": "invoke_workflow"})
        root["attributes"]["gen_ai.workflow.name"] = self._place[0]
        root["end_time"] = max(_nanoseconds(events[position].timestamp) for position in positions)
        agents: dict[tuple[str, str | None], Json] = {}
        calls: dict[str | None, int] = {}
        found: list[Json] = []
        for position in positions:
            event, now = events[position], _nanoseconds(events[position].timestamp)
            if event.author != "user" or event is not first:
                agent = self._agent(agents, root, event, latest)
                agent["end_time"] = now
                found += self._calls(agent, id_, position, calls, latest)
            calls.update((call.id, now) for call in event.get_function_calls())
            latest = now
        yield root
        yield from agents.values()
        yield from found

    def _agent(self, agents: dict[tuple[str, str | None], Json], root: Json, event: Event, since: int) -> Json:
        """The span of the agent that an event is of; below that of the nearest agent of its branch."""
        if event.author == "user":
            return next(reversed(agents.values()), root)
        key = event.author, event.branch
        if key not in agents:
            above = (event.branch or "").split(".")[::-1]
            by_name = {name: span for (name, _), span in agents.items()}
            parent = next((by_name[name] for name in above if name in by_name and name != event.author), root)
            attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.author}
            where = f"{root['attributes'][INVOCATION]} {event.author} {event.branch}"
            agents[key] = self._span(
                f"invoke_agent {event.author}", root["attributes"][INVOCATION], parent, since, attributes, where
            )
        return agents[key]

    def _calls(
        self, agent: Json, invocation: str, position: int, calls: dict[str | None, int], since: int
    ) -> Iterator[Json]:
        """The spans of the calls that have made an event."""
        event = self._events[position]
        responses = event.get_function_responses()
        for response in responses:
            attributes: Json = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": response.name,
                "gen_ai.tool.call.id": response.id,
                EVENT: event.id,
            }
            began, where = calls.get(response.id, since), f"{event.id} {response.id}"
            yield self._ended(f"execute_tool {response.name}", invocation, agent, began, attributes, where, event)
        if responses or event.author == "user" or not (event.content or event.usage_metadata or event.error_code):
            return
        attributes = {
            "gen_ai.operation.name": "generate_content",
            "gen_ai.agent.name": event.author,
            "gen_ai.request.model": event.model_version,
            "gcp.vertex.agent.session_id": self._place[2],
            EVENT: event.id,
            **of_response(event),
            REQUEST: self._request(position),
            RESPONSE: text_of(without_secrets(event).model_dump(**_AS_RESPONSE)),
        }
        if event.error_code:
            attributes["error.type"] = event.error_code
        if event.model_version:
            attributes[WINDOW] = window_of("", event.model_version)
        yield self._ended("call_llm", invocation, agent, since, attributes, event.id, event)

    def _request(self, position: int) -> str:
        """What the model may have been asked with: the conversation before its answer."""
        if self._bytes > _MOST_BYTES:
            return text_of({"omitted": "the answer is long enough: ask for the trace of the event"})
        events = [without_secrets(event) for event in self._events[:position]]
        contents = [dumped(event.content) for event in events if event.content is not None and event.content.parts]
        text = text_of({"model": self._events[position].model_version, "config": {}, "contents": contents})
        self._bytes += len(text)
        return text

    def _ended(
        self, name: str, invocation: str, parent: Json, began: int, attributes: Json, key: str, event: Event
    ) -> Json:
        span = self._span(name, invocation, parent, began, attributes, key)
        span["end_time"] = max(began, _nanoseconds(event.timestamp))
        return span

    def _span(
        self, name: str, invocation: str, parent: Json | None, began: int, attributes: Json, key: str = ""
    ) -> Json:
        own = {"gen_ai.conversation.id": self._place[2], INVOCATION: invocation, "newel.from_events": True}
        return {
            "name": name,
            "span_id": self._number(f"{invocation} {key}"),
            "trace_id": self._number(invocation),
            "parent_span_id": parent["span_id"] if parent is not None else None,
            "start_time": began,
            "end_time": began,
            "attributes": {key: value for key, value in {**attributes, **own}.items() if value is not None},
        }

    def _number(self, key: str) -> int:
        """The same id each time, which JavaScript keeps exactly."""
        digest = blake2b(repr((self._place, key)).encode("utf-8", "replace"), digest_size=6).digest()
        return int.from_bytes(digest) + 1


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
