"""History: an agent's view of a session as model contents, kept up to date event by event.

Most events only add their content to the end. Those that change what came before (a rewind, a compaction, a
response that does not follow its call, a transcription) start a new epoch: everything is built once more.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from newel.contexts.call_ids import OURS
from newel.flows import rearrangement
from newel.flows.context_budget.edits import EDITS, Edit, Target, edited, edits_of, is_of_view
from newel.flows.summaries import compacted, is_summary
from newel.flows.transcriptions import transcribed
from newel.flows.visibility import as_quotation, is_from_other_agent, is_visible, on_branch
from newel.questions.names import HIDDEN
from newel.turns.steering import in_order, is_steering, told_by
from newel_kernel import Event, Log
from newel_types import Content, FrozenContent, FunctionCall, FunctionResponse, Part, freeze, thaw

Ids = tuple[str | None, ...]


class Reading(NamedTuple):
    """How a session's events are read."""

    #: Fence what other agents said as quotations.
    fence: bool = False
    #: Leave out the user's responses to calls that have their tools' results and did not ask the user.
    asked_only: bool = False
    #: Keep what stands between a call and a late response to it; the pair then stands behind it.
    keep_meanwhile: bool = False


_PLAIN = Reading()
#: What a history has of edits and of untold messages until there are some: few sessions have any.
_NONE: Mapping[Any, Any] = MappingProxyType({})


class History:
    """The contents that one agent on one branch sees. `update` takes the session's events and adds the new ones."""

    __slots__ = (
        "_agent",
        "_branch",
        "_calls",
        "_contents",
        "_edited",
        "_epoch",
        "_marks",
        "_past",
        "_reading",
        "_scope",
        "_settled",
        "_summarised",
        "_whole",
        "edits",
        "untold",
    )

    def __init__(self, agent_name: str, branch: str | None, scope: str | None, reading: Reading = _PLAIN) -> None:
        self._agent = agent_name
        self._branch = branch
        self._scope = scope
        self._reading = reading
        self._reset()

    def _reset(self) -> None:
        self._past: list[Event] = []
        #: The number of contents after each seen event, for rolling back when a log is cut.
        self._marks = array("I")
        self._contents: list[Content] = []
        #: The calls of the last visible event: only a response to these may simply be appended.
        self._calls: Ids = ()
        #: Events before this index were built as a whole.
        self._epoch = 0
        #: Those that have contents, in the order of the contents.
        self._whole: Sequence[Event] = ()
        #: Whether the log has a summary up to there.
        self._summarised = False
        #: Whether the next event may simply be appended.
        self._settled = True
        #: What stands in place of results, and by the place of its content, each event of results that was edited.
        self.edits: Mapping[Target, Edit] = _NONE
        self._edited: Mapping[int, Event] = _NONE
        #: Messages that came in while a run was under way, and that are not told yet, by the event's id.
        self.untold: Mapping[str, Event] = _NONE

    def update(self, events: Sequence[Event]) -> list[Content]:
        """The contents for `events`: a list of frozen contents that is not to be changed."""
        past = self._past
        if past and (len(past) > len(events) or events[len(past) - 1] is not past[-1]):
            self._roll_back(events)
            past = self._past
        for event in events[len(past) :]:
            if not self._settled or not (self._append_plain(event) or self._append_any(event)):
                self._rebuild(events)
                break
            past.append(event)
            self._marks.append(len(self._contents))
        return self._contents

    def _roll_back(self, events: Sequence[Event]) -> None:
        """Forget the events that were cut off the end, or everything if the log is another one."""
        count = min(len(self._past), len(events))
        while count > self._epoch and events[count - 1] is not self._past[count - 1]:
            count -= 1  # cut off, and continued with other events
        plain = self._settled and not any(map(_concerns_others, self._past[count:]))
        if self._epoch <= count and count and plain and events[count - 1] is self._past[count - 1]:
            del self._past[count:], self._marks[count:]
            del self._contents[self._marks[-1] :]
            self._calls = self._last_calls()
        else:
            self._reset()

    def _last_calls(self) -> Ids:
        """The calls of the last event that is shown, if it is the agent's own."""
        for position in range(len(self._past) - 1, self._epoch - 1, -1):
            event = self._past[position]
            if self._marks[position] > (self._marks[position - 1] if position else 0):
                return () if is_from_other_agent(event, self._agent) else tuple(rearrangement.call_ids(event))
        return tuple(rearrangement.call_ids(self._whole[-1])) if self._whole else ()

    def _append_plain(self, event: Event) -> bool:
        """Take the usual event (one part, said by the user or the agent itself) in one look; False: look closer."""
        content = event.content
        if (
            content is None
            or not (parts := content.parts)
            or len(parts) != 1
            or not content.role
            or (event.author != self._agent and event.author != "user")
            or event.touched_actions is not None
            or event.branch
            or event.partial
            or event.isolation_scope != self._scope
            or event.custom_metadata is not None
        ):
            return False
        part = parts[0]
        calls: Ids = ()
        if part.text:
            if part.thought:
                return False
            if part.function_call is None and part.function_response is None and content.__class__ is FrozenContent:
                self._calls = calls
                self._contents.append(content)  # as `outgoing` would give it, for 20 opcodes less
                return True
        elif part.function_call is not None:
            if part.function_call.name in HIDDEN:
                return False
            calls = (part.function_call.id,)
        else:
            response = part.function_response
            if response is None or response.name in HIDDEN or self._calls != (response.id,) or self._summarised:
                return False
        self._calls = calls
        self._contents.append(outgoing(content))
        return True

    def _append_any(self, event: Event) -> bool:
        """Take any event that only adds to the end; False if it does not."""
        actions = event.touched_actions
        if actions is not None and (
            actions.rewind_before_invocation_id
            or (actions.compaction is not None and on_branch(event.branch, self._branch))
        ):
            return False
        if event.content is None and (event.input_transcription or event.output_transcription):
            return False
        if event.custom_metadata is not None and self._concerns_others(event):
            return True
        if self._summarised and self._answers_a_summarised_call(event):
            return False
        if not is_visible(event, self._branch, self._scope):
            return True
        if is_from_other_agent(event, self._agent):
            quotation = as_quotation(event, fence=self._reading.fence)
            if quotation is not None:
                self._contents.append(freeze(quotation))
                self._calls = ()
            return True
        calls, answered = rearrangement.exchanged_ids(event)
        if answered and not (_same(answered, self._calls) and _leads(event, len(answered))):
            return False
        self._calls = tuple(calls)
        if event.content is not None:
            self._contents.append(outgoing(event.content))
        return True

    def _answers_a_summarised_call(self, event: Event) -> bool:
        """Whether an event, wherever it stands, answers a call that a summary shows until somebody answers it."""
        answered = set(rearrangement.answered_ids(event))
        return bool(answered) and any(
            not answered.isdisjoint(rearrangement.call_ids(one)) for one in islice(self._past, self._epoch)
        )

    def _concerns_others(self, event: Event) -> bool:
        """Take an event that says something about other events; False for any other event."""
        if self._reading.keep_meanwhile and self._steers(event):
            return True
        if EDITS not in (event.custom_metadata or {}):
            return False
        if is_of_view(event, self._agent, self._branch, self._scope):
            self._edit(edits_of(event))
        return True

    def _steers(self, event: Event) -> bool:
        """Hold a message back until it is told, and append what a note tells; False for any other event."""
        if is_steering(event):
            if is_visible(event, self._branch, self._scope):
                self.untold = {**self.untold, event.id: event}
            return True
        ids = told_by(event)
        for message in [self.untold[one] for one in ids if one in self.untold]:
            self.untold = {id_: other for id_, other in self.untold.items() if other is not message}
            assert message.content is not None  # it is visible
            self._contents.append(outgoing(message.content))
            self._calls = ()
        return bool(ids)

    def _edit(self, edits: Sequence[Edit]) -> None:
        """Show these results in another form; a result that is not shown any more is left out."""
        self.edits, self._edited = shown, sources = {**self.edits}, {**self._edited}
        targets: dict[str, dict[str | None, Edit]] = {}
        for edit in edits:
            targets.setdefault(edit.target[0], {})[edit.target[1]] = edit
        for event_id, index in self._places(targets).items():
            results = self.source(index)
            if results is None or set(rearrangement.answered_ids(results)).isdisjoint(targets[event_id]):
                continue
            responses = {id_: edit.response for id_, edit in targets[event_id].items()}
            sources[index] = results = edited(results, responses)
            assert results.content is not None  # it has results
            self._contents[index] = outgoing(results.content)
            shown.update({edit.target: edit for edit in targets[event_id].values()})

    def _places(self, calls: Mapping[str, object]) -> dict[str, int]:
        """By the ids of events of calls, the places of the contents behind theirs."""
        found: dict[str, int] = {}
        for position in range(len(self._past) - 1, self._epoch - 1, -1):
            if len(found) == len(calls):
                return found
            if self._past[position].id in calls:
                found.setdefault(self._past[position].id, self._marks[position])
        for index in range(len(self._whole) - 1, -1, -1):
            if self._whole[index].id in calls and rearrangement.call_ids(self._whole[index]):
                found.setdefault(self._whole[index].id, index + 1)
        return found

    @property
    def epoch(self) -> int:
        """How many events were built as a whole; each of the others only added to the end."""
        return self._epoch

    @property
    def ends(self) -> Sequence[int]:
        """By the position of each event that was taken in, how many contents there are up to it."""
        return self._marks

    def source(self, index: int) -> Event | None:
        """The event whose content stands at this place; None if it is a message that a note tells."""
        if index in self._edited:
            return self._edited[index]
        if index < len(self._whole):
            return self._whole[index]
        if index >= len(self._contents):
            return None
        position = bisect_left(self._marks, index + 1, lo=self._epoch)
        event = self._past[position]
        return event if event.content is not None else None

    def _rebuild(self, log: Sequence[Event]) -> None:
        events = list(log)  # a store's thread may add to the log meanwhile
        self._reset()
        untold: list[Event] = []
        whole = assemble(events, self._agent, self._branch, self._scope, self._reading, untold)
        self.untold = {event.id: event for event in untold}
        self._whole = [event for event in whole if event.content is not None]
        self._contents = [outgoing(event.content) for event in self._whole if event.content is not None]
        self._past = events
        self._marks = array("I", [len(self._contents)]) * len(self._past)
        self._epoch = len(self._past)
        self._summarised = any(map(is_summary, events))
        self._calls = tuple(rearrangement.call_ids(whole[-1])) if whole else ()
        for event in Log(events).standing():
            if event.custom_metadata is not None and is_of_view(event, self._agent, self._branch, self._scope):
                self._edit(edits_of(event))
        # What a late response or a transcription did to the end depends on what comes next, also after events that
        # are not shown.
        visible = (event for event in reversed(events) if is_visible(event, self._branch, self._scope))
        ends = [*events[-1:], *self._whole[-1:], *islice(visible, 1)]
        self._settled = not any(
            one.get_function_responses() or one.input_transcription or one.output_transcription for one in ends
        )


def _concerns_others(event: Event) -> bool:
    """Whether an event says something about the contents of other events."""
    metadata = event.custom_metadata
    return metadata is not None and (EDITS in metadata or is_steering(event) or bool(told_by(event)))


def _same(answered: list[str | None], calls: Ids) -> bool:
    return tuple(answered) == calls or (len(answered) == len(calls) and set(answered) == set(calls))


def _leads(event: Event, count: int) -> bool:
    """Whether the `count` responses of an event stand before everything else in it, as providers demand."""
    parts = event.content.parts or () if event.content is not None else ()
    return len(parts) == count or all(part.function_response is not None for part in parts[:count])


def assemble(
    events: Sequence[Event],
    agent_name: str,
    branch: str | None,
    scope: str | None = None,
    reading: Reading = _PLAIN,
    untold: list[Event] | None = None,
) -> list[Event]:
    """The events as the agent sees them: rewound, filtered, compacted, transcribed, quoted, rearranged.

    Messages that no model has been told come last, or into `untold`. Specified in
    docs/reference/behaviour.md#the-conversation.
    """
    standing: Sequence[Event] = Log(events).standing()
    if reading.keep_meanwhile:
        standing, waiting = in_order(standing)
        if untold is None:
            standing += waiting
        else:
            untold += [event for event in waiting if is_visible(event, branch, scope)]
    visible = [event for event in standing if is_visible(event, branch, scope)]
    if any(map(is_summary, visible)):
        visible = compacted(visible, standing, branch)
    shown_events: list[Event] = []
    for event in transcribed(visible):
        if not is_from_other_agent(event, agent_name):  # a summary is: its author is the model
            shown_events.append(event)
        elif (content := as_quotation(event, fence=reading.fence)) is not None:
            shown_events.append(Event(author="user", content=content, branch=event.branch, timestamp=event.timestamp))
    answered = rearrangement.drop_void_answers(shown_events, asked_only=reading.asked_only)
    valid = [event for event in answered if event.content is not None]
    if reading.keep_meanwhile:
        return rearrangement.place_pairs(valid)
    return rearrangement.place_responses(rearrangement.place_latest_response(valid))


def outgoing(content: Content) -> Content:
    """`content` as a model gets it: frozen, and without the call ids that are ours.

    Specified in docs/reference/behaviour.md#call-ids.
    """
    for part in content.parts or ():
        exchanged: FunctionCall | FunctionResponse | None = part.function_call or part.function_response
        if exchanged is not None and exchanged.id and exchanged.id.startswith(OURS):
            return freeze(Content(role=content.role, parts=[_without_own_id(p) for p in content.parts or ()]))
    return content if content.__class__ is FrozenContent else freeze(thaw(content))


def _without_own_id(part: Part) -> Part:
    call: FunctionCall | None = part.function_call
    response: FunctionResponse | None = part.function_response
    if call is not None and call.id and call.id.startswith(OURS):
        return part.model_copy(update={"function_call": call.model_copy(update={"id": None})})
    if response is not None and response.id and response.id.startswith(OURS):
        return part.model_copy(update={"function_response": response.model_copy(update={"id": None})})
    return part.model_copy()
