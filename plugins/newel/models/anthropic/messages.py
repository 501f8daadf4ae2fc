"""Messages: a history as alternating messages, with the results of calls where the service wants them."""

from __future__ import annotations

from newel.models.anthropic.blocks import (
    THINKING,
    Media,
    assistant_blocks,
    orphan_blocks,
    result_blocks,
    unanswered,
    user_blocks,
)
from newel.models.anthropic.media import Report, text_block
from newel.models.anthropic.tool_search import is_search, references
from newel.models.wire.names import CallIds, Names
from newel_kernel import Json
from newel_types import Content, Part

#: User messages to insert where the service needs one and the history has none.
_BEGIN = "Do now what your instructions ask for."
_BEFORE = "The conversation begins with your words."
_CONTINUE = "Continue with what you were doing. If nothing is left to do, sum up the outcome and stop."


class Messages:
    """A history in the service's form, which grows content by content (`newel.models.wire.conversions`).

    Consecutive contents of one role are one message. A message that is in `_closed` does not change.
    """

    def __init__(self, media: Media, report: Report) -> None:
        self._media, self._report = media, report
        self._names = Names()
        self._ids = CallIds()
        self._closed: list[Json] = []
        self._role = ""
        #: The parts of the message that still grows: the results of calls, which come first, and the rest.
        self._results: list[Json] = []
        self._blocks: list[Json] = []
        #: The names of the tools that were called.
        self.called: dict[str, None] = {}
        #: Whether the service searched for tools, and the names of those that it found.
        self.has_searches = False
        self.referenced: frozenset[str] = frozenset()

    def copy(self) -> Messages:
        """A copy that can grow without changing this one."""
        new = Messages.__new__(Messages)
        new._media, new._report, new._names, new._role = self._media, self._report, self._names, self._role
        new._ids = self._ids.copy()
        new._closed = self._closed.copy()
        new._results, new._blocks = self._results.copy(), self._blocks.copy()
        new.called = self.called.copy()
        new.has_searches, new.referenced = self.has_searches, self.referenced
        return new

    def add(self, content: Content) -> None:
        """Convert one more content."""
        if content.role == "model":
            for part in content.parts or ():
                self._add_model(part)
        else:
            for part in content.parts or ():
                self._add_user(part)

    def finish(self) -> list[Json]:
        """The messages of a request: they begin and end with the user, and each call has its result."""
        self._close()
        if not self._closed:
            return [_user([text_block(_BEGIN)])]
        if self._closed[-1]["role"] == "assistant":
            missing = [unanswered(call_id) for call_id, _ in self._ids.unanswered()]
            self._closed.append(_user(missing or [text_block(_CONTINUE)]))
        return self._closed

    def paused(self) -> list[Json]:
        """The messages of a request that lets the model continue what it said last."""
        self._close()
        return self._closed

    def _add_model(self, part: Part) -> None:
        call = part.function_call
        if call is None:
            for block in assistant_blocks(part, self._report):
                self._turn("assistant")
                self._blocks.append(block)
                if is_search(block):
                    self.has_searches = True
                    self.referenced |= set(references(block))
            return
        self._turn("assistant")
        name = self._names.out(call.name or "")
        self.called[name] = None
        call_id = self._ids.call(call.id, call.name)
        self._blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": call.args or {}})

    def _add_user(self, part: Part) -> None:
        response = part.function_response
        if response is None:
            for block in user_blocks(part, self._media, self._report):
                self._turn("user")
                self._blocks.append(block)
            return
        self._turn("user")
        call_id = self._ids.result(response.id, response.name)
        if call_id is None:
            self._blocks.extend(orphan_blocks(response, self._media, self._report))
            return
        result, others = result_blocks(response, call_id, self._media, self._report)
        self._results.append(result)
        self._blocks.extend(others)

    def _turn(self, role: str) -> None:
        """Make the growing message one of `role`."""
        if role == self._role:
            return
        self._close()
        self._role = role
        if role == "user" and self._closed and self._closed[-1]["role"] == "user":  # the model's turn came to nothing
            for block in self._closed.pop()["content"]:
                (self._results if block["type"] == "tool_result" else self._blocks).append(block)
        elif role == "assistant" and not self._closed:
            self._closed.append(_user([text_block(_BEFORE)]))

    def _close(self) -> None:
        if self._role == "user":
            missing = [unanswered(call_id) for call_id, _ in self._ids.unanswered()]
            if blocks := [*self._results, *missing, *self._blocks]:
                self._closed.append(_user(blocks))
        elif self._role == "assistant":
            while self._blocks and self._blocks[-1]["type"] in THINKING:  # refused at the end of a message
                self._blocks.pop()
            if self._blocks:
                self._closed.append({"role": "assistant", "content": self._blocks})
        self._role, self._results, self._blocks = "", [], []


def _user(blocks: list[Json]) -> Json:
    return {"role": "user", "content": blocks}
