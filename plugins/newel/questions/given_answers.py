"""Given answers: the function response that an answer of a person stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from newel.questions.confirmation import UnusableAnswerError, read_answer
from newel.questions.question import Kind, Question, open_questions
from newel.questions.values import answer_value
from newel_kernel import ConfigurationError, Event, Json, Log, brief
from newel_types import Content, FunctionCall, Part


def message_of(answers: Sequence[tuple[Question, object]]) -> Content:
    """The message that gives the answers, each as `response_of` reads it; nothing is answered if one does not fit."""
    parts = [Part(function_response=one.response(response_of(one, answer))) for one, answer in answers]
    return Content(role="user", parts=parts)


def usable(answers: Sequence[tuple[Question, object]]) -> Content:
    """`message_of`; ConfigurationError if an answer does not fit."""
    try:
        return message_of(answers)
    except ValueError as error:
        raise ConfigurationError(f"the answer cannot be used: {error}") from None


def open_in(events: Sequence[Event]) -> list[Question]:
    """The questions in a session's events that wait for the user, the oldest first."""
    return open_questions(Log(events))


def answering(waiting: Sequence[Question], question: Question | str, answer: object) -> Content:
    """The message that answers one of the questions; ConfigurationError if none waits for it, or it does not fit."""
    id_ = question if isinstance(question, str) else question.id
    found = next((one for one in waiting if one.id == id_), None)
    if found is None:
        ids = ", ".join(one.id for one in waiting) or "none"
        raise ConfigurationError(f"nothing waits for an answer to {brief(id_)!r} (open questions: {ids})")
    return usable([(found, answer)])


def response_of(question: Question, answer: object) -> Json:
    """The response to `question` that `answer` stands for.

    An approval takes a boolean or an object with `confirmed`, an input the value that was asked for, a credential an
    object with `exchangedAuthCredential` or the secret as a text, a long-running call its result. Raises a ValueError
    that says what does not fit.
    """
    if question.kind is Kind.APPROVAL:
        fields = {"confirmed": answer} if isinstance(answer, bool) else answer
        if not isinstance(fields, dict):
            raise UnusableAnswerError("answer true or false, or an object with `confirmed`")
        read_answer(question.response(fields), FunctionCall.model_validate(question.original))
        return fields
    response = dict(answer) if isinstance(answer, Mapping) else {"result": answer}
    if question.kind is Kind.INPUT:
        response = {"result": answer}
        answer_value(question.id, response, question.schema)
    elif question.kind is Kind.CREDENTIAL and not question.accepts(question.response(response)):
        raise ValueError("it holds no credential: send `exchangedAuthCredential`, or the secret as a text")
    return response
