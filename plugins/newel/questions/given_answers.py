"""Given answers: the function response that an answer of a person stands for."""

from __future__ import annotations

from collections.abc import Mapping

from newel.questions.confirmation import UnusableAnswerError, read_answer
from newel.questions.question import Kind, Question
from newel.questions.values import answer_value
from newel_kernel import Json
from newel_types import FunctionCall


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
