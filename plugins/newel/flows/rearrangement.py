"""Rearrangement: each tool call directly before its response, as providers demand.

Specified in docs/reference/behaviour.md#rearrangement.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from newel_kernel import Event, SessionError
from newel_types import Content, Part


def call_ids(event: Event) -> list[str | None]:
    """The ids of the calls in an event."""
    return [call.id for call in event.get_function_calls()]


def answered_ids(event: Event) -> list[str | None]:
    """The ids that the responses in an event answer."""
    return [response.id for response in event.get_function_responses()]


def exchanged_ids(event: Event) -> tuple[list[str | None], list[str | None]]:
    """The ids of the calls in an event, and those that its responses answer."""
    calls: list[str | None] = []
    answered: list[str | None] = []
    for part in (event.content.parts or ()) if event.content is not None else ():
        if part.function_call is not None:
            calls.append(part.function_call.id)
        if part.function_response is not None:
            answered.append(part.function_response.id)
    return calls, answered


def drop_void_answers(events: Sequence[Event], *, asked_only: bool) -> list[Event]:
    """Leave out the user's later answers to a call that does not wait for the outside: the first one counts.

    With `asked_only`, also the answers to such calls that have their tools' own results. A long-running call takes any
    number of responses.
    """
    #: Call ids: what the user answered, and what was not asked of the user.
    answered: set[str | None] = set()
    unasked: set[str | None] = set()
    waiting: set[str | None] = set()
    results = {id_ for event in events if event.author != "user" for id_ in answered_ids(event)}
    result: list[Event] = []
    for event in events:
        calls, responses = exchanged_ids(event)
        answered.difference_update(calls)  # a model may use an id again
        waiting.difference_update(calls)
        waiting.update(event.long_running_tool_ids or ())
        if asked_only:
            unasked.update(id_ for id_ in calls if id_ not in (event.long_running_tool_ids or ()))
        if event.author == "user" and responses:
            void = answered | (unasked & results)
            if not void.isdisjoint(responses):
                event = _without_responses(event, void)
            answered.update(id_ for id_ in responses if id_ not in waiting)
        result.append(event)
    return result


def _without_responses(event: Event, ids: Set[str | None]) -> Event:
    parts = event.content.parts or () if event.content is not None else ()
    rest = [p for p in parts if p.function_response is None or p.function_response.id not in ids]
    content = Content(role=event.content.role if event.content is not None else None, parts=rest) if rest else None
    return event.model_copy(update={"content": content})


def place_latest_response(events: list[Event]) -> list[Event]:
    """If the last event answers an earlier call, put it right after that call and drop what lies between.

    The model is then asked as if it had just called: what it said while it waited would come between a call
    and its response.
    """
    if len(events) < 2:
        return events
    ids = set(answered_ids(events[-1]))
    if not ids or ids & set(call_ids(events[-2])):
        return events
    index = next((i for i in range(len(events) - 2, -1, -1) if ids & set(call_ids(events[i]))), None)
    if index is None:
        raise SessionError(f"no tool call matches the response(s) {sorted(map(str, ids))}")
    calls = set(call_ids(events[index]))
    if not ids <= calls:
        raise SessionError(
            f"the last response event answers {sorted(map(str, ids))}, but the call event has {sorted(map(str, calls))}"
        )
    between = [e for e in events[index + 1 : -1] if calls & set(answered_ids(e))]
    return [*events[: index + 1], merged([*between, events[-1]])]


def place_pairs(events: Sequence[Event]) -> list[Event]:
    """Put every event of calls right before the latest response to one of them; whatever else was said stays.

    The responses to it become one event, in the order of the first to each call, the latest to each. What a message
    says next to a response stays in its place, behind the responses.
    """
    #: Positions of events of calls: by call id, and by the position of the latest response.
    asked: dict[str | None, int] = {}
    latest: dict[int, int] = {}
    responses: dict[int, dict[str | None, Part]] = {}
    for index, event in enumerate(events):
        calls, answered = exchanged_ids(event)
        for part in (event.content.parts or ()) if answered and event.content is not None else ():
            if part.function_response is not None and (at := asked.get(part.function_response.id)) is not None:
                responses.setdefault(at, {})[part.function_response.id] = part
                latest[at] = index
        asked.update(dict.fromkeys(calls, index))
    arriving: dict[int, list[int]] = {}
    for at, index in latest.items():
        arriving.setdefault(index, []).append(at)
    result: list[Event] = []
    for index, event in enumerate(events):
        for at in arriving.get(index, ()):
            result.append(_without_any_response(events[at]))
            content = Content(role="user", parts=list(responses[at].values()))
            result.append(event.model_copy(update={"content": content}))
        rest = _without_any_response(event)
        if index in latest or rest.content is None:
            continue
        if rest is not event and index in arriving and (one := result[-1].content) is not None:
            one.parts = [*(one.parts or ()), *(rest.content.parts or ())]
        else:
            result.append(rest)
    return result


def _without_any_response(event: Event) -> Event:
    ids = set(answered_ids(event))
    return _without_responses(event, ids) if ids else event


def place_responses(events: Sequence[Event]) -> list[Event]:
    """Put every response right after its call, those of one call event merged into one."""
    at: dict[str | None, int] = {}
    for index, event in enumerate(events):
        for answered in answered_ids(event):
            at[answered] = index
    result: list[Event] = []
    for event in events:
        if event.get_function_responses():
            continue  # comes along with its call
        result.append(event)
        indices = sorted({at[call] for call in call_ids(event) if call in at})
        if len(indices) == 1:
            result.append(events[indices[0]])
        elif indices:
            result.append(merged([events[i] for i in indices]))
    return result


def merged(events: Sequence[Event]) -> Event:
    """One event of several responses; a later one to the same call replaces the first, at its position."""
    first = events[0]
    if len(events) == 1:
        return first
    parts = list(first.content.parts or ()) if first.content is not None else []
    index = {p.function_response.id: i for i, p in enumerate(parts) if p.function_response is not None}
    for event in events[1:]:
        for part in (event.content.parts or ()) if event.content is not None else ():
            response = part.function_response
            if response is not None and response.id in index:
                parts[index[response.id]] = part
                continue
            if response is not None:
                index[response.id] = len(parts)
            parts.append(part)
    role = first.content.role if first.content is not None else "user"
    return first.model_copy(update={"content": Content(role=role, parts=parts)})
