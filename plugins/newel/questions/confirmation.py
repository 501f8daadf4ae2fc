"""What a user answers to a request for approval: yes, no, or yes with other arguments."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from newel_kernel import Json
from newel_types import FunctionCall, FunctionResponse, as_plain


class UnusableAnswerError(ValueError):
    """The answer is neither an approval nor a rejection; the text says what is wrong with it and what to send."""


class ConfirmationAnswer(BaseModel):
    """The answer, in camelCase or snake_case; a field that it does not have is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True)

    confirmed: bool = False
    hint: str | None = None
    payload: object = None
    #: With `confirmed`: the call is to run with these arguments instead of those that the model wrote.
    edited_args: Json | None = None
    #: An echo of the call that the user was shown; any other call is refused.
    original_function_call: Json | None = None


def read_answer(response: FunctionResponse, call: FunctionCall) -> ConfirmationAnswer:
    """The answer in `response` to a request about `call`; raises UnusableAnswerError."""
    answer_fields = _fields(response.response or {})
    try:
        answer = ConfirmationAnswer.model_validate(answer_fields)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'the answer'}: {detail['msg']}"
            for detail in error.errors(include_url=False, include_input=False)
        )
        raise UnusableAnswerError(
            f"{problems}; answer with confirmed (true or false), and optionally payload or editedArgs"
        ) from None
    if answer.original_function_call is not None:
        _check_same(answer.original_function_call, call)
    if answer.edited_args is not None and not answer.confirmed:
        raise UnusableAnswerError("editedArgs come with confirmed: true, or not at all")
    return answer


def _fields(response: Json) -> Json:
    """The fields of the answer: unchanged, as JSON text under `response`, or as an echo of the request."""
    answer_fields: object = response
    if len(response) == 1 and "response" in response:
        answer_fields = response["response"]
        if isinstance(answer_fields, str):
            try:
                answer_fields = json.loads(answer_fields)
            except ValueError:
                raise UnusableAnswerError('`response` is not valid JSON; send {"confirmed": true}') from None
    if not isinstance(answer_fields, dict):
        raise UnusableAnswerError('the answer must be an object: send {"confirmed": true} or {"confirmed": false}')
    fields: Json = dict(answer_fields)
    for name in ("toolConfirmation", "tool_confirmation"):
        if isinstance(echo := fields.pop(name, None), dict):
            fields = {**echo, **fields}
    return fields


def _check_same(echoed: Json, call: FunctionCall) -> None:
    for name, value in (("id", call.id), ("name", call.name), ("args", as_plain(call.args or {}))):
        if name in echoed and echoed[name] != value:
            raise UnusableAnswerError(
                f"it approves a call other than the one that was asked about: {name} differs. To run the call with "
                f"other arguments, answer with confirmed: true and editedArgs"
            )
