"""The caller: who called a tool of the server, what it is told meanwhile, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import ElicitRequest, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least

from newel.events.progress import progress_of
from newel.mcp_server.elicitations import answer, can_be_asked, form
from newel.questions.question import Kind, Question
from newel_kernel import Event, Json, seam

#: From this version on a question is a result, and its answer comes with the next request.
_BY_RESULT = "2026-07-28"
#: Seconds between two notes of progress.
_PAUSE = 0.05
#: What the framework calls to ask a person.
_FRAMEWORK = "adk_"


class InputRequired(Exception):
    """The call ends with questions; the client calls again with the answers."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("the client is asked")
        self.result = result


class UnfitAnswerError(Exception):
    """The answer of the client's user does not fit what was asked; the text says how."""


class Caller:
    """One call of a client."""

    def __init__(self, ctx: ServerRequestContext[Any], answers: Mapping[str, object] | None, state: str | None) -> None:
        self._ctx = ctx
        self._answers = answers or {}
        #: The session in which the client was asked before, if it answers now.
        self.asked_in = state
        self._count = 0
        self._pending = ""
        self._told = 0.0

    async def note(self, event: Event) -> None:
        """Tell the client what the agent writes and calls, and how far its calls are, if it wants to know."""
        if (told := progress_of(event)) is not None:
            await self._tell(f"{told['tool']}: {told['message'] or format(told['progress'], 'g')}")
            return
        if event.content is None or event.author == "user":
            return
        parts = [part for part in event.content.parts or () if not part.thought]
        calls = [part.function_call.name or "" for part in parts if part.function_call is not None]
        calls = [name for name in calls if not name.startswith(_FRAMEWORK)]
        if event.partial:
            self._pending += "".join(part.text for part in parts if part.text)
        if calls and not event.partial:
            self._pending = f"{self._pending}\ncalling {', '.join(calls)}".strip()
        now = seam.monotonic()
        if self._pending and (calls or now - self._told >= _PAUSE):
            text, self._pending, self._told = self._pending, "", now
            await self._tell(text)

    async def _tell(self, text: str) -> None:
        self._count += 1
        await self._ctx.session.report_progress(self._count, None, text)

    async def ask(self, questions: Sequence[Question], session_id: str) -> list[tuple[Question, Json | None]]:
        """The responses to `questions`; None: there is none. Whoever cannot be asked rejects calls.

        Raises InputRequired if the client answers with its next call, UnfitAnswerError for an answer that does not fit.
        """
        asked = [one for one in questions if can_be_asked(one)]
        given = {one.id: self._answers[one.id] for one in asked if one.id in self._answers}
        if given:  # a retry: what was asked is answered, or was left out by the client's user
            self._answers = {}
            return [_answered(one, _result(given.get(one.id))) for one in asked]
        if not self._has_forms:
            return [_answered(one, ElicitResult(action="decline")) for one in asked]
        if is_version_at_least(self._ctx.protocol_version, _BY_RESULT):
            requests = {one.id: ElicitRequest(params=form(one)) for one in asked}
            raise InputRequired(InputRequiredResult(input_requests=requests, request_state=session_id))
        answers = []
        for one in asked:
            shown = form(one)
            result = await self._ctx.session.elicit_form(shown.message, shown.requested_schema, self._ctx.request_id)
            answers.append(_answered(one, result))
        return answers

    @property
    def _has_forms(self) -> bool:
        capabilities = self._ctx.session.client_capabilities
        asking = capabilities.elicitation if capabilities is not None else None
        if asking is None or (asking.form is None and asking.url is not None):
            return False
        return is_version_at_least(self._ctx.protocol_version, _BY_RESULT) or self._ctx.session.can_send_request


def unanswered(question: Question) -> str:
    """What is said of a question that the client's user did not answer."""
    if question.kind is Kind.CREDENTIAL:
        return f"{question.author} needs a log-in, which is not taken here: log in where the agent has a page"
    if question.kind is Kind.RESULT and not question.options:
        return f"{question.author} waits for the result of {question.name}"
    return f"{question.author} waits for an answer: {question.hint or question.name}"


def _answered(question: Question, result: ElicitResult) -> tuple[Question, Json | None]:
    try:
        return question, answer(question, result)
    except ValueError as error:
        raise UnfitAnswerError(str(error)) from None


def _result(value: object) -> ElicitResult:
    if value is None:
        return ElicitResult(action="cancel")
    return value if isinstance(value, ElicitResult) else ElicitResult.model_validate(value)
