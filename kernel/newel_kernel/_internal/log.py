"""Log: a reader over a session's events. Which events count, which calls are open, and what a message answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from newel_kernel._internal.events import Event
from newel_types import Content, FunctionCall

#: The default of a filter: it lets everything through.
_ANY = "*"
_NO_IDS: frozenset[str | None] = frozenset()
_NO_ASKERS: Mapping[str | None, Event] = {}


class Log:
    """The events of a session, in the order in which they were committed.

    A rewind takes back all events from an invocation on; all methods but `beginning` skip these.
    Reading is lazy and copies nothing: make a Log where you need one.
    """

    __slots__ = ("events",)

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    def backwards(self) -> Iterator[tuple[int, Event]]:
        """The events that count, last one first, each with its position."""
        events = self.events
        index = len(events) - 1
        while index >= 0:
            actions = events[index].touched_actions
            target = actions.rewind_before_invocation_id if actions is not None else None
            if target:
                first = self.beginning(target)
                index = index if first is None else min(first, index)
            else:
                yield index, events[index]
            index -= 1

    def standing(self) -> list[Event]:
        """The events that count, oldest first."""
        return [event for _, event in self.backwards()][::-1]

    def beginning(self, invocation_id: str) -> int | None:
        """The position of the invocation's first event, or None if the log has no such invocation."""
        return next((i for i, event in enumerate(self.events) if event.invocation_id == invocation_id), None)

    def asker(self, ids: Collection[str | None]) -> Event | None:
        """The latest event that holds a call of one of these ids."""
        for _, event in self.backwards():
            if any(call.id in ids for call in event.get_function_calls()):
                return event
        return None

    def calls(
        self,
        author: str,
        scope: str | None,
        *,
        branch: str | None = _ANY,
        invocation_id: str = _ANY,
        own: Collection[str] | None = None,
    ) -> Calls | None:
        """The latest event with calls that `author` made in the isolation scope, and which of them have no result.

        `branch`, `invocation_id` and `own` (event ids) narrow the search if they are given. A long-running call has
        begun with its event and is not counted. A stand-in for a later result (its event's `custom_metadata` says
        ``newel.provisional``) leaves its call open.
        """
        answered: set[str | None] = set()
        for position, event in self.backwards():
            if invocation_id not in (_ANY, event.invocation_id):
                continue
            if event.isolation_scope != scope or (own is not None and event.id not in own):
                continue
            if not (event.custom_metadata or {}).get("newel.provisional"):
                answered.update(response.id for response in event.get_function_responses())
            if event.author != author or branch not in (_ANY, event.branch):
                continue
            waiting = event.long_running_tool_ids or ()
            if calls := [call for call in event.get_function_calls() if call.id not in waiting]:
                return Calls(position, event, [call for call in calls if call.id not in answered])
        return None

    def turn(self, content: Content | None) -> Turn:
        """The message `content`, with the calls in the log that it answers."""
        ids = response_ids(content)
        if not ids:  # most messages answer nothing
            return Turn(self, content, ids, _NO_ASKERS)
        askers: dict[str | None, Event] = {}
        pending = set(ids)
        for _, event in self.backwards():
            for call in event.get_function_calls():
                if call.id in pending:
                    pending.discard(call.id)
                    askers[call.id] = event
            if not pending:
                break
        return Turn(self, content, ids, askers)


class Calls:
    """An event with tool calls, its position in the log, and the calls that are `open`."""

    __slots__ = ("event", "open", "position")

    def __init__(self, position: int, event: Event, open: list[FunctionCall]) -> None:
        self.position = position
        self.event = event
        self.open = open


class Turn:
    """A message that came in, and the events in the log that it answers; made once for a message."""

    __slots__ = ("answered", "askers", "content", "log")

    def __init__(
        self, log: Log, content: Content | None, answered: Collection[str | None], askers: Mapping[str | None, Event]
    ) -> None:
        self.log = log
        self.content = content
        #: The ids of the calls that it answers.
        self.answered = answered
        #: Those of these ids that the log holds, each with the event that made the call; the latest event first.
        self.askers = askers

    @property
    def asker(self) -> Event | None:
        """The latest event whose call the message answers.

        The message belongs to the author, branch, scope and invocation of that event.
        """
        return next(iter(self.askers.values()), None)


def response_ids(content: Content | None) -> Set[str | None]:
    """The ids of the calls that the function responses in `content` answer."""
    parts = content.parts or () if content is not None else ()
    for part in parts:
        if part.function_response is not None:
            return {part.function_response.id for part in parts if part.function_response is not None}
    return _NO_IDS
