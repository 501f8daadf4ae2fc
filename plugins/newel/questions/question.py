"""Question: a call that waits for the user, as the log has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from newel.contexts.call_ids import new_call_id
from newel.questions.names import CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL
from newel_kernel import Event, InvocationContext, Json, Log
from newel_types import Content, FunctionCall, Part, as_plain

_ORIGINAL, _CONFIRMATION = "originalFunctionCall", "toolConfirmation"


class Kind(StrEnum):
    """What is asked for."""

    APPROVAL = CONFIRMATION_CALL
    CREDENTIAL = CREDENTIAL_CALL
    INPUT = INPUT_CALL
    #: The result of a long-running tool's call.
    RESULT = "result"


_KINDS = {kind.value: kind for kind in (Kind.APPROVAL, Kind.CREDENTIAL, Kind.INPUT)}


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for the user: one of the framework's own, or a long-running tool's."""

    kind: Kind
    id: str
    name: str
    args: Json
    #: The agent that asks, and where: its answer belongs there.
    author: str
    branch: str | None
    scope: str | None
    invocation_id: str
    event_id: str

    @classmethod
    def of(cls, event: Event, call: FunctionCall) -> Self:
        """The question that the `call` in `event` puts."""
        return cls(
            kind=_KINDS.get(call.name or "", Kind.RESULT), id=call.id or "", name=call.name or "",
            args=as_plain(call.args or {}), author=event.author, branch=event.branch, scope=event.isolation_scope,
            invocation_id=event.invocation_id, event_id=event.id,
        )  # fmt: skip

    @property
    def behind(self) -> str | None:
        """The id of the tool call on whose behalf it is asked."""
        if self.kind is Kind.APPROVAL:
            original = self.args.get(_ORIGINAL)
            return original.get("id") if isinstance(original, Mapping) else None
        if self.kind is Kind.CREDENTIAL:
            return self.args.get("functionCallId") or self.args.get("function_call_id")
        return None

    @property
    def original(self) -> Json:
        """The tool call (id, name, args) that a request for approval is about."""
        call: Json = self.args.get(_ORIGINAL) or {}
        return call

    @property
    def hint(self) -> str:
        """What the user is told: of an approval the tool's hint, of an input the message."""
        if self.kind is Kind.INPUT:
            return str(self.args.get("message") or "")
        return str((self.args.get(_CONFIRMATION) or {}).get("hint") or "")

    @property
    def payload(self) -> object:
        """What the asking side shows with the question."""
        if self.kind is Kind.INPUT:
            return self.args.get("payload")
        return (self.args.get(_CONFIRMATION) or {}).get("payload")

    @property
    def schema(self) -> Json | None:
        """The JSON schema of an input."""
        schema: Json | None = self.args.get("response_schema") if self.kind is Kind.INPUT else None
        return schema

    @property
    def options(self) -> list[str]:
        """What a tool such as get_user_choice lets the user choose from."""
        options = self.args.get("options")
        return list(map(str, options)) if self.kind is Kind.RESULT and isinstance(options, list) else []

    def is_of(self, ctx: InvocationContext) -> bool:
        """Whether the agent that runs has asked it, on its branch and in its scope."""
        return (self.author, self.branch, self.scope) == (ctx.agent.name, ctx.branch, ctx.isolation_scope)


def find_question(log: Log, call_id: str | None) -> tuple[int, Question] | None:
    """The question with that call id and its position in the log; of several that the id was used for the latest.

    It may be answered: `log.answers(call_id, position)` are the positions of the answers, of which the first counts.
    """
    for position, event, call in log.requests({call_id}) if call_id else ():
        return position, Question.of(event, call)
    return None


def open_questions(log: Log) -> list[Question]:
    """What waits in the log, the oldest first; a call about which the user is asked is not listed beside that."""
    found = [Question.of(event, call) for event, call in log.open_requests()]
    behind = {question.behind for question in found}
    return [question for question in found if question.id not in behind]


def new_request(name: str, args: Json) -> FunctionCall:
    """A call of the framework's own, with an id of ours."""
    return FunctionCall(id=new_call_id(), name=name, args=args)


def request_event(ctx: InvocationContext, requests: Sequence[FunctionCall], *, role: str | None = "user") -> Event:
    """The event with which the agent that runs puts questions to the user."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        isolation_scope=ctx.isolation_scope,
        content=Content(role=role, parts=[Part(function_call=request) for request in requests]),
        long_running_tool_ids={str(request.id) for request in requests},
    )
