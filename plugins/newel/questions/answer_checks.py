"""Answer checks: a message may answer the calls that wait for an answer; the rest is refused before it is stored."""

from __future__ import annotations

from newel.questions.calls import open_requests
from newel.questions.precedence import LATE, answered_id, surely_late
from newel.questions.question import Kind, Question, find_question
from newel.questions.values import answer_value
from newel_kernel import ConfigurationError, InvocationContext, Log, Turn, brief
from newel_types import Content, FunctionResponse, Part


def check_answers(turn: Turn) -> None:
    """Raise ConfigurationError if the message answers a call that does not wait for one; nothing is stored then."""
    if unknown := sorted(brief(str(id_)) for id_ in turn.answered if id_ not in turn.askers):
        raise ConfigurationError(f"the message answers tool call(s) {unknown} that the session does not have")
    responses = {
        one.id: one
        for part in (turn.content.parts or () if turn.content is not None else ())
        if (one := part.function_response)
    }
    problems = [
        problem for id_ in turn.answered if (problem := _problem(turn.log, id_, responses.get(id_))) is not None
    ]
    if problems:
        raise ConfigurationError(
            f"the message is refused, and nothing of it is stored: {'; '.join(sorted(problems))}. A function response "
            f"may answer an open request for approval, credentials or input, or an open call of a long-running tool"
        )


def _problem(log: Log, call_id: str | None, response: FunctionResponse | None) -> str | None:
    """Why the call cannot be answered, or not in this way.

    A question that was answered before is not a problem (see `late_answers`), and a long-running call takes any number
    of responses.
    """
    if (place := find_question(log, call_id)) is None:
        return f"the call {brief(str(call_id))!r} does not wait for an answer"
    _, question = place
    if question.kind is Kind.RESULT:
        for event, call in open_requests(log):
            if (other := Question.of(event, call)).call_id == call_id:
                return (
                    f"the call {brief(str(call_id))!r} of the tool {question.name!r} waits for the answer to "
                    f"{brief(other.id)!r} first"
                )
    if question.kind is Kind.INPUT and question.call_id is not None and response is not None:
        try:
            answer_value(question.id, response.response or {}, question.schema)
        except ValueError as error:
            return str(error)
    return None


def accepted(ctx: InvocationContext, turn: Turn) -> Content | None:
    """The message without the answers that come too late; None if nothing is left of it.

    Each response gets the name of the call that it answers: the name decides whether models see it.
    """
    content = turn.content
    if content is None:
        return None
    late = surely_late(ctx, turn.log, turn.answered)
    if late:
        ctx.stash[LATE].update(late)
    parts = [_with_name(part, turn) for part in content.parts or () if answered_id(part) not in late]
    return Content(role=content.role, parts=parts) if parts else None


def _with_name(part: Part, turn: Turn) -> Part:
    response = part.function_response
    if response is None:
        return part
    name = next(call.name for call in turn.askers[response.id].get_function_calls() if call.id == response.id)
    if response.name == name:
        return part
    return part.model_copy(update={"function_response": response.model_copy(update={"name": name})})
