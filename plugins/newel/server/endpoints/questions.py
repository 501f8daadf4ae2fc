"""Questions: what waits for the user, answered by its id; and what is said to an agent at work."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from newel.contexts.run_config import RunConfig
from newel.questions.given_answers import message_of
from newel.questions.question import KEPT, Kind, Question, open_questions
from newel.runs import Run
from newel.server.calls import Call, endpoint
from newel.server.endpoints.runs import RunAnswer, Said, at_worker, begun_soon, described, refused, streamed
from newel.server.endpoints.sessions import Body, opened, owner, place
from newel.server.refusals import Refusal
from newel_kernel import ConfigurationError, Json, Log, PairingError, Session, StreamingMode
from newel_types import Content, deferred

_steered = deferred("newel.server.engine_steering", "steered")
_KINDS = {Kind.APPROVAL: "approval", Kind.CREDENTIAL: "credential", Kind.INPUT: "input", Kind.RESULT: "result"}


class QuestionAnswer(Body):
    """A call that waits for the user."""

    id: str
    #: approval, input, credential or result.
    kind: str
    session_id: str
    invocation_id: str
    author: str
    #: When it was asked, in seconds since 1970.
    asked: float
    name: str
    #: What the asking side says to the user.
    hint: str
    #: The arguments of the call, or for an approval those of the call that it is about.
    args: Json
    #: The JSON schema of an input.
    response_schema: Json | None = None
    options: list[str] = Field(default_factory=list)


class Reply(Body):
    """An answer to a question.

    An approval takes {"confirmed": true or false}, an input the value that was asked for, a credential an object with
    `exchangedAuthCredential`, a long-running call its result.
    """

    answer: Any
    #: Answer with the stream of the run that it starts, and not with its id.
    follow: bool = False
    streaming: bool = False


class Remark(Body):
    """Something that is said to an agent at work."""

    new_message: Said
    streaming: bool = False


@endpoint(answer=list[QuestionAnswer])
async def list_questions(call: Call) -> object:
    """What waits for the user in a session, the oldest first."""
    return _described(await opened(call))


@endpoint(answer=list[QuestionAnswer])
async def list_user_questions(call: Call) -> object:
    """What waits for the user in all sessions with an app."""
    store = call.server.services.session
    found: list[QuestionAnswer] = []
    for listed in (await store.list_sessions(**owner(call))).sessions:
        if (session := await store.open(**owner(call), session_id=listed.id)) is not None:
            found += _described(session)
    return found


@endpoint(body=Reply, answer=RunAnswer)
async def answer_question(call: Call) -> object:
    """Answer a question: the run that asked goes on. The answer is checked before anything is stored."""
    session, id_ = await opened(call), call.path["question_id"]
    question = next((one for one in open_questions(Log(session.events)) if one.id == id_), None)
    if question is None:
        raise Refusal(404, "Nothing waits for this answer: it was given, or the question was taken back")
    message, where = _message(question, call.body.answer), place(call)
    if call.server.engine is not None:
        run = await at_worker(call, where, message)
        return await streamed(call, where, run) if call.body.follow else described(run)
    runner = await call.server.runner(call.path["app_name"])
    run = runner.start(
        user_id=call.path["user_id"],
        session_id=call.path["session_id"],
        new_message=message,
        run_config=_config(call.body.streaming),
    )
    if call.body.follow:
        return await streamed(call, place(call), run)
    return await _begun(run)


@endpoint(body=Remark, answer=RunAnswer)
async def steer(call: Call) -> object:
    """Say something to the agent that is at work: it is told before its next model call.

    If no run has the session, or it ends without another model call, the message gets a run of its own.
    """
    runner = await call.server.runner(call.path["app_name"])
    await opened(call)
    if call.server.engine is not None:
        run = _steered()(call.server, runner, place(call), call.body.new_message, streaming=call.body.streaming)
        await begun_soon(run)
        return described(run)
    run = runner.start(
        user_id=call.path["user_id"],
        session_id=call.path["session_id"],
        new_message=call.body.new_message,
        run_config=_config(call.body.streaming),
        yield_user_message=True,
        steers=True,
    )
    return await _begun(run)


async def _begun(run: Run) -> object:
    """The run, whose message is stored now; a Refusal if it cannot be."""
    try:
        await run.begun()
    except (ConfigurationError, PairingError) as error:
        raise refused(error) from error
    return described(run)


def _config(streaming: bool) -> RunConfig | None:
    return RunConfig(streaming_mode=StreamingMode.SSE) if streaming else None


def _described(session: Session) -> list[QuestionAnswer]:
    questions = open_questions(Log(session.events))
    asking = {one.event_id for one in questions}
    times = {event.id: event.timestamp for event in session.events if event.id in asking} if asking else {}
    return [_as_answer(session.id, one, times[one.event_id]) for one in questions]


def _as_answer(session_id: str, one: Question, asked: float) -> QuestionAnswer:
    is_approval = one.kind is Kind.APPROVAL
    return QuestionAnswer(
        id=one.id,
        kind=_KINDS[one.kind],
        session_id=session_id,
        invocation_id=one.invocation_id,
        author=one.author,
        asked=asked,
        name=str(one.original.get("name") or "") if is_approval else one.name,
        hint=one.hint,
        args=(one.original.get("args") or {}) if is_approval else {k: v for k, v in one.args.items() if k != KEPT},
        response_schema=one.schema,
        options=one.options,
    )


def _message(question: Question, answer: object) -> Content:
    """The message that gives the answer; a Refusal says what does not fit."""
    try:
        return message_of([(question, answer)])
    except ValueError as error:
        raise Refusal(422, [{"type": "value_error", "loc": ["body", "answer"], "msg": str(error)}]) from None
