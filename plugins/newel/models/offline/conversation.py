"""A request's contents as a conversation: the message to answer, what was done about it, and what came before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from newel_kernel import LlmRequest
from newel_types import Content, FunctionResponse, Part

#: The text before the words of another agent in the contents of a request; a distribution may fence each text.
CONTEXT_MARK = "For context:"
_FENCED = re.compile(r"(?P<mark>`{3,})\n(?P<text>.*)\n(?P=mark)\n?", re.DOTALL)
_REPORT = re.compile(r"\[(?P<who>[^\]]+)\] said: (?P<text>.*)", re.DOTALL)
_TRANSFERRED = re.compile(r"\[(?P<who>[^\]]+)\] (?:called tool )?`transfer_to_agent` ")


@dataclass(slots=True)
class Exchange:
    """A tool call and its result, which is None until it comes."""

    name: str
    args: dict[str, Any]
    response: dict[str, Any] | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that was said (`who` is user, model or an agent's name), or a tool's result (`who` is tool)."""

    who: str
    text: str
    exchange: Exchange | None = None


@dataclass(slots=True)
class Conversation:
    """The last message of the user and its surroundings."""

    message: str = ""
    #: The calls since that message, in order.
    exchanges: list[Exchange] = field(default_factory=list)
    #: What this agent has said since that message.
    replies: list[str] = field(default_factory=list)
    #: The agents that handed this message over to another one.
    transferred: set[str] = field(default_factory=set)
    #: What came before the message, oldest first.
    earlier: list[Remark] = field(default_factory=list)
    #: What other agents reported since that message.
    reports: list[Remark] = field(default_factory=list)


def read_conversation(request: LlmRequest) -> Conversation:
    """The conversation of a request."""
    contents = list.copy(request.contents)  # no copies of the elements: nothing here edits them
    at = _last_message(contents)
    conversation = Conversation(earlier=list(_remarks(contents[: max(at, 0)])))
    if at >= 0:
        conversation.message = _plain_text(contents[at])
    rest = contents[at + 1 :]
    conversation.exchanges = _exchanges(rest)
    for content in rest:
        if content.role == "model":
            conversation.replies.extend(p.text for p in content.parts or () if p.text and not p.thought)
        elif _is_context(content):
            matches = map(_TRANSFERRED.match, _reported(content))
            conversation.transferred.update(match["who"] for match in matches if match)
    conversation.reports = [remark for remark in _remarks(rest) if remark.who not in ("model", "tool")]
    if not conversation.message and conversation.reports:
        # An agent that does not see the history gets only another agent's words.
        conversation.message = conversation.reports[-1].text
    return conversation


def _last_message(contents: Sequence[Content]) -> int:
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if content.role != "model" and _texts(content) and not _is_context(content):
            return index
    return -1


def _texts(content: Content) -> list[str]:
    return [part.text for part in content.parts or () if part.text and not part.thought]


def _plain_text(content: Content) -> str:
    return "\n".join(_texts(content)).strip()


def _is_context(content: Content) -> bool:
    texts = _texts(content)
    return bool(texts) and texts[0] == CONTEXT_MARK


def _reported(content: Content) -> list[str]:
    """The texts of a report on another agent, without their fences."""
    return [match["text"] if (match := _FENCED.fullmatch(text)) else text for text in _texts(content)]


def _parts(contents: Iterable[Content]) -> Iterable[Part]:
    return (part for content in contents for part in content.parts or ())


def _exchanges(contents: Sequence[Content]) -> list[Exchange]:
    exchanges: list[Exchange] = []
    for part in _parts(contents):
        if (call := part.function_call) is not None:
            exchanges.append(Exchange(call.name or "", dict(call.args or {}), call_id=call.id))
        elif (response := part.function_response) is not None:
            _answer(exchanges, response)
    return exchanges


def _answer(exchanges: Sequence[Exchange], response: FunctionResponse) -> None:
    """Give a result to its call: by id if both have one, else to the first call of that name without a result."""
    same = [e for e in exchanges if e.name == response.name]
    by_id = [e for e in same if response.id and e.call_id == response.id]
    for exchange in by_id or [e for e in same if e.response is None]:
        exchange.response = response.response or {}
        return


def _remarks(contents: Sequence[Content]) -> Iterable[Remark]:
    for content in contents:
        if _is_context(content):
            for match in filter(None, map(_REPORT.match, _reported(content))):
                yield Remark(match["who"], match["text"].strip())
            continue
        text = _plain_text(content)
        if text:
            yield Remark("model" if content.role == "model" else "user", text)
    for exchange in _exchanges(contents):
        if exchange.response is not None:
            yield Remark("tool", "", exchange)
