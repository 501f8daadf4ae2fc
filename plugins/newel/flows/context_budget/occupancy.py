"""Occupancy: how large an agent's next request is, and which of its results are large. It is kept up to date.

After a response with a token count, what it counted is known and only what came later is estimated. Estimates are made
only once the request can be too large: before that, lengths are added up.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from newel.flows.compaction_window import compaction_of
from newel.flows.context_budget.edits import Edit, Target, edits_of, is_of_view, tokens_after_summary, tokens_left
from newel.flows.history import History
from newel.flows.visibility import on_branch
from newel.models.media_estimates import tokens_of_media
from newel.models.token_estimates import MOST, tokens_of_text, words_of
from newel.policies.kept_results import reference_in
from newel_kernel import Event, Json, Log
from newel_types import Content, FunctionCall, FunctionResponse, Part

#: A run of one letter has more characters than this for each token; text of any kind has fewer.
_CHARACTERS = 5.5
#: More than the names around a result, for the bound.
_OVERHEAD = 500
#: A shorter part in ASCII is counted by its characters, with those of its frame, and so many of them for each token.
_SHORT = 200
_PART = 8
_SHORT_CHARACTERS = 4
#: A call or a result with more fields is written as JSON to know its size.
_FIELDS = 8
_PLAIN = frozenset({int, float, bool, type(None)})
_as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


def estimated(part: Part, provider: str) -> int:
    """About how many tokens a part has; what repeats one letter counts as a text of that length."""
    if (words := words_of(part)) is None:
        return tokens_of_media(part, provider)
    return max(tokens_of_text(words, provider), int(len(words) / _CHARACTERS))


@dataclass(slots=True)
class Shown:
    """A result in the conversation that is long enough to be shortened."""

    target: Target
    call: FunctionCall
    response: FunctionResponse
    characters: int
    #: How many requests for tools came before it.
    step: int
    edit: Edit | None = None
    #: Estimated when they are needed; 0: not yet.
    tokens: int = 0


class _Count(NamedTuple):
    """What an event counted of the conversation up to it."""

    position: int
    timestamp: float
    tokens: int


class Occupancy:
    """The size of what one history shows."""

    __slots__ = (
        "_calling",
        "_contents",
        "_counted",
        "_excluded",
        "_history",
        "_last",
        "_later",
        "_least",
        "_length",
        "_pending",
        "_provider",
        "_read",
        "_short",
        "_taken",
        "_view",
        "cleared_at",
        "handles",
        "offloaded",
        "results",
        "steps",
        "summarized_at",
        "version",
        "whole",
    )

    def __init__(
        self,
        history: History,
        view: tuple[str, str | None, str | None],
        least: int,
        provider: str = "",
        excluded: Collection[str] = (),
    ) -> None:
        self._history = history
        #: The agent, its branch and its isolation scope.
        self._view = view
        #: A result of fewer characters is not worth a stub.
        self._least = least
        self._provider = provider
        #: Tools whose results are never shortened.
        self._excluded = excluded
        #: Changes with the results, and with their ages.
        self.version = 0
        self._reset()

    def _reset(self) -> None:
        #: The results that are whole or can be shortened further, the oldest first; how often tools were requested.
        self.results: dict[Target, Shown] = {}
        self.steps = 0
        self.version += 1
        #: How many of the results are whole, and whether one became an artifact.
        self.whole = 0
        self.offloaded = False
        #: How many results got a name for `read_result`.
        self.handles = 0
        #: The tokens of a request after something was last left out, and after the last summary among that.
        self.cleared_at = self.summarized_at = 0
        #: What a response or an edit counted, and the tokens of what came after it.
        self._counted = self._later = 0
        #: The characters of short parts; other parts, until they are estimated, with their length.
        self._short = 0
        self._pending: list[tuple[Part, Shown | None]] = []
        self._length = 0
        #: How many events and contents were read, the last event, and the list of contents that they are in.
        self._read = self._taken = 0
        self._last: Event | None = None
        self._contents: list[Content] = []
        #: The last event of calls.
        self._calling: Event | None = None

    def update(self, events: Sequence[Event]) -> None:
        """Take in what came since the last time."""
        contents, read, ends = self._history.update(events), self._read, self._history.ends
        end = len(ends)  # a store's thread may have added to the events since
        if self._contents is not contents or read > end or (read and events[read - 1] is not self._last):
            self._reset()
            self._contents = contents
            self._begin(events[: self._history.epoch])
            read = self._read
        if read == end:
            return
        for position in range(read, end):
            event = events[position]
            if ends[position] > self._taken:
                self._take(event, ends[position])
            if event.usage_metadata is not None or event.custom_metadata is not None:
                self._count(event)
        self._read, self._last = end, events[end - 1]

    def _begin(self, events: Sequence[Event]) -> None:
        """Take in what the history made of these events as a whole."""
        if not events:
            return
        counted = self._last_count(events)
        earlier = set() if counted is None else {event.id for event in events[: counted.position + 1]}
        later = {event.id for event in events} - earlier
        for index in range(self._history.ends[len(events) - 1]):
            source = self._history.source(index)
            if source is None:
                continue
            # A quotation is an event of its own, as old as what it quotes.
            is_earlier = source.id in earlier or (
                source.id not in later and counted is not None and source.timestamp <= counted.timestamp
            )
            sizes = self._short, self._length, len(self._pending)
            self._take(source, index + 1)
            if is_earlier:
                self._short, self._length = sizes[:2]
                del self._pending[sizes[2] :]
        self._counted = 0 if counted is None else counted.tokens
        for edit in self._history.edits.values():
            self._shorten(edit)
        self._read, self._last = len(events), events[-1]

    def _last_count(self, events: Sequence[Event]) -> _Count | None:
        """What was counted last, unless a summary came later; all results that got a name are noted."""
        found: _Count | None = None
        summarized = False
        for position, event in Log(events).backwards():
            if event.custom_metadata is not None and is_of_view(event, *self._view):
                self._name(edits_of(event))
                self.cleared_at = self.cleared_at or tokens_left(event) or 0
                self.summarized_at = self.summarized_at or tokens_after_summary(event) or 0
            if found is None and not summarized:
                summarized = compaction_of(event) is not None and on_branch(event.branch, self._view[1])
                if (tokens := self._counted_by(event)) is not None:
                    found = _Count(position, event.timestamp, tokens)
        return found

    def _counted_by(self, event: Event) -> int | None:
        """The tokens of the conversation up to this event, as its model or an edit of the context counted them."""
        if not is_of_view(event, *self._view):
            return None
        usage = event.usage_metadata
        if usage is not None and usage.prompt_token_count is not None:
            return usage.prompt_token_count + (usage.candidates_token_count or 0)
        return None if event.custom_metadata is None else tokens_left(event)

    def _count(self, event: Event) -> None:
        """Take over what an event counted, and the edits that it tells."""
        edits = edits_of(event) if is_of_view(event, *self._view) else ()
        self._name(edits)
        for edit in edits:
            self._shorten(edit)
        if (counted := self._counted_by(event)) is not None:
            self._set_counted(counted)
            self.cleared_at = tokens_left(event) or self.cleared_at
            self.summarized_at = tokens_after_summary(event) or self.summarized_at

    def _name(self, edits: Sequence[Edit]) -> None:
        numbers = [int(edit.handle[1:]) for edit in edits if edit.handle[1:].isdecimal()]
        self.handles = max([self.handles, *numbers])

    def _shorten(self, edit: Edit) -> None:
        if (shown := self.results.get(edit.target)) is None:
            return
        self.version += 1
        self.whole -= shown.edit is None
        shown.edit, shown.tokens = edit, 0
        shown.response = FunctionResponse(name=shown.response.name, response=edit.response)
        shown.characters = _size(edit.response)
        if shown.characters < self._least:  # not worth another stub
            del self.results[edit.target]

    def _take(self, event: Event, end: int) -> None:
        """Take in the contents up to `end`, which an event made."""
        exchanges = False
        for index in range(self._taken, end):
            for part in self._contents[index].parts or ():
                if (text := part.text) is None:
                    exchanges = True
                elif len(text) < _SHORT and text.isascii():
                    self._short += len(text) + _PART
                else:
                    self._pend(part, len(text))
        self._taken = end
        if exchanges:
            self._exchange(event)

    def _pend(self, part: Part, length: int, shown: Shown | None = None) -> None:
        self._pending.append((part, shown))
        self._length += length

    def _exchange(self, event: Event) -> None:
        """Take in the calls, results and media of an event."""
        calls, shown = False, None
        for part in (event.content.parts or ()) if event.content is not None else ():
            if (call := part.function_call) is not None:
                calls, shown = True, None
                size = _size(call.args)
            elif (response := part.function_response) is not None:
                size = _size(response.response)
                shown = self._note(response, size)
                self.offloaded = self.offloaded or reference_in(response.response) is not None
            elif part.text is None:
                self._pend(part, 1 + int(tokens_of_media(part, self._provider) / MOST))
                continue
            else:
                continue
            if size < _SHORT:
                self._short += size + _PART
            else:
                self._pend(part, size + _OVERHEAD, shown)
        if calls and event.author == self._view[0]:
            self.steps += 1
            self.version += 1
            self._calling = event

    def _note(self, response: FunctionResponse, characters: int) -> Shown | None:
        """Note a result, if it is large enough and its call did not begin something longer."""
        calling = self._calling
        if calling is None or response.parts or response.id in (calling.long_running_tool_ids or ()):
            return None
        target = (calling.id, response.id)
        if (characters < self._least and target not in self._history.edits) or response.name in self._excluded:
            return None
        call = next((one for one in calling.get_function_calls() if one.id == response.id), None)
        if call is None:
            return None
        before = self.results.get(target)
        self.whole += before is None or before.edit is not None
        self.version += 1
        shown = self.results[target] = Shown(target, call, response, characters, self.steps)
        return shown

    def exceeds(self, tokens: int) -> bool:
        """Whether the next request has more than about this many tokens; they are estimated only if it can."""
        known = self._counted + self._later + self._short // _SHORT_CHARACTERS
        return known + self._length * MOST > tokens and (known > tokens or self.tokens() > tokens)

    def tokens(self) -> int:
        """About how many tokens the next request has."""
        for part, shown in self._pending:
            tokens = estimated(part, self._provider)
            self._later += tokens
            if shown is not None and shown.response is part.function_response:
                shown.tokens = tokens
        self._pending.clear()
        self._length = 0
        return self._counted + self._later + self._short // _SHORT_CHARACTERS

    def _set_counted(self, tokens: int) -> None:
        """So many tokens are known of all that was taken in."""
        self._counted, self._later, self._short, self._length = tokens, 0, 0, 0
        self._pending.clear()

    def old(self) -> list[Shown]:
        """The results that the model has seen: all but those of the last request for tools."""
        return [shown for shown in self.results.values() if shown.step < self.steps]

    def saving(self, shown: Shown, response: Json) -> int:
        """How many tokens less the conversation has with another response in place of a result."""
        shown.tokens = shown.tokens or self._tokens_of(shown.response, shown.characters)
        other = FunctionResponse(name=shown.response.name, response=response)
        return shown.tokens - self._tokens_of(other, _size(response))

    def _tokens_of(self, response: FunctionResponse, characters: int) -> int:
        if characters < _SHORT:
            return (characters + _PART) // _SHORT_CHARACTERS
        return estimated(Part(function_response=response), self._provider)


def _size(value: Json | None) -> int:
    """The characters of a call's arguments or of a result as JSON, or near it."""
    if not value:
        return 0
    size = 0
    for key, item in value.items() if len(value) <= _FIELDS else ():
        if item.__class__ is str:
            size += len(item) + len(key) + 6
        elif item.__class__ in _PLAIN:
            size += len(key) + 12
        else:
            break
    else:
        if len(value) <= _FIELDS:
            return size
    return len(_as_json(value))
