"""Question: a call that waits for the user, as the log has it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from newel.contexts.tool_input import Answered, ToolInput
from newel.questions.calls import open_requests, requests
from newel.questions.names import CONFIRMATION_CALL, CREDENTIAL_CALL, INPUT_CALL
from newel.questions.values import answer_value
from newel_kernel import Event, InvocationContext, Json, Log, ToolConfirmation
from newel_types import FunctionCall, FunctionResponse, as_plain, deep_copy

#: In the arguments of a request for approval: the call, what its tool says, whether the call is repeated, and the owner
#: of the lease under which it began, if that was never given back.
CALL, CONFIRMATION, REPEATS, BEGUN_BY = "originalFunctionCall", "toolConfirmation", "repeats", "begunBy"
#: In the arguments of a request on behalf of a call: the input that the user gave before, and what the call keeps. A
#: request for input has the call and the approval under which it runs, too.
INPUT, KEPT = "toolInput", "kept"
#: Part of the default hint of a tool: it says how a program answers, which does not help a person.
_FOR_PROGRAMS = "by responding with a FunctionResponse"
#: An answer with a credential has one of these fields: an AuthConfig's, an AuthCredential's, or a text's.
_CREDENTIAL_FIELDS = ("exchangedAuthCredential", "exchanged_auth_credential", "authType", "auth_type", "result")


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
    #: The agent that asks, and its branch and scope: the answer belongs there.
    author: str
    branch: str | None
    scope: str | None
    invocation_id: str
    event_id: str

    @classmethod
    def of(cls, event: Event, call: FunctionCall) -> Self:
        """The question that the `call` in `event` puts."""
        return cls(
            kind=_KINDS.get(call.name or "", Kind.RESULT),
            id=call.id or "",
            name=call.name or "",
            args=as_plain(call.args or {}),
            author=event.author,
            branch=event.branch,
            scope=event.isolation_scope,
            invocation_id=event.invocation_id,
            event_id=event.id,
        )

    @property
    def call_id(self) -> str | None:
        """The id of the tool call on whose behalf it is asked."""
        if self.kind in (Kind.APPROVAL, Kind.INPUT):
            original = self.args.get(CALL)
            return original.get("id") if isinstance(original, Mapping) else None
        if self.kind is Kind.CREDENTIAL:
            return self.args.get("functionCallId") or self.args.get("function_call_id")
        return None

    @property
    def original(self) -> Json:
        """The tool call (id, name, args) that a request for approval, or a tool's for input, is about."""
        call: Json = self.args.get(CALL) or {}
        return call

    @property
    def repeats(self) -> bool:
        """Whether the approval is about repeating an interrupted call."""
        return self.kind is Kind.APPROVAL and bool(self.args.get(REPEATS))

    @property
    def begun_by(self) -> str | None:
        """The worker that had begun the call and may still be running it (see `newel.claims.owners.nameless`)."""
        worker = self.args.get(BEGUN_BY)
        return worker if isinstance(worker, str) else None

    @property
    def confirmation(self) -> ToolConfirmation | None:
        """The approval under which a call runs that asks for an input."""
        given = self.args.get(CONFIRMATION) if self.kind is Kind.INPUT else None
        return ToolConfirmation(**given) if isinstance(given, Mapping) else None

    @property
    def answered(self) -> Answered | None:
        """What the call gets of the time before when it runs again; without the answer to this question."""
        given, kept = self.args.get(INPUT), self.args.get(KEPT)
        if given is None and kept is None:
            return None
        return Answered(ToolInput(given.get("value")) if isinstance(given, Mapping) else None, kept)

    @property
    def hint(self) -> str:
        """The text for the user: an approval has the tool's hint, an input its message."""
        if self.kind is Kind.INPUT:
            return str(self.args.get("message") or "")
        return str((self.args.get(CONFIRMATION) or {}).get("hint") or "")

    @property
    def hint_for_people(self) -> str:
        """The hint, unless it only says how a program answers."""
        return "" if _FOR_PROGRAMS in self.hint else self.hint

    @property
    def payload(self) -> object:
        """The data that the asking side sends with the question."""
        if self.kind is Kind.INPUT:
            return self.args.get("payload")
        return (self.args.get(CONFIRMATION) or {}).get("payload")

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

    @property
    def call(self) -> FunctionCall:
        """The call itself, as a copy."""
        return FunctionCall(id=self.id, name=self.name, args=deep_copy(self.args))

    def response(self, answer: Json) -> FunctionResponse:
        """The function response that answers the question."""
        return FunctionResponse(id=self.id, name=self.name, response=answer)

    def accepts(self, response: FunctionResponse) -> bool:
        """Whether `response` answers it: an input must fit the schema, and a credential must be present."""
        if response.id != self.id:
            return False
        answer = response.response or {}
        if self.kind is Kind.CREDENTIAL:
            return any(answer.get(name) is not None for name in _CREDENTIAL_FIELDS)
        if self.kind is Kind.INPUT:
            try:
                answer_value(self.id, answer, self.schema)
            except ValueError:
                return False
        return True

    def is_of(self, ctx: InvocationContext) -> bool:
        """Whether the running agent asked it, on its branch and in its scope."""
        return (self.author, self.branch, self.scope) == (ctx.agent.name, ctx.branch, ctx.isolation_scope)


def questions_of(event: Event) -> list[Question]:
    """The questions that an event puts.

    Only the runtime marks a call as one that waits. An id that calls of several names share marks none of them.
    """
    waiting = event.long_running_tool_ids
    if not waiting or event.author == "user":
        return []
    names: dict[str, set[str | None]] = {}
    calls = [call for call in event.get_function_calls() if call.id in waiting]
    for call in calls:
        names.setdefault(call.id or "", set()).add(call.name)
    return [Question.of(event, call) for call in calls if len(names[call.id or ""]) == 1]


def find_questions(log: Log, ids: Collection[str | None]) -> Iterator[tuple[int, Question]]:
    """The questions with these call ids, newest first, each with its position in the log."""
    for position, event, call in requests(log, ids):
        for question in questions_of(event):
            if question.id == call.id:
                yield position, question


def find_question(log: Log, call_id: str | None) -> tuple[int, Question] | None:
    """The question with that call id and its position in the log; the latest, if the id was used for several.

    It may be answered: `answers(log, call_id, position)` are the positions of the answers, of which the first counts.
    """
    return next(find_questions(log, {call_id}), None) if call_id else None


def unanswered(log: Log) -> list[Question]:
    """The questions that the user has not answered, the oldest first."""
    return [Question.of(event, call) for event, call in open_requests(log)]


def open_questions(log: Log) -> list[Question]:
    """The questions that wait for the user, the oldest first; a call that another question is about is not listed."""
    questions = unanswered(log)
    call_ids = {question.call_id for question in questions}
    return [question for question in questions if question.id not in call_ids]
