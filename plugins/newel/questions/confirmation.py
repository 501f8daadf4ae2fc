"""What a user answers to a request for approval: yes, no, or yes with other arguments."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from newel_kernel import Json
from newel_types import FunctionCall, FunctionResponse, as_plain


class UnusableAnswerError(ValueError):
    """The answer is no approval and no rejection; the text says what is wrong with it and what to send."""


class ConfirmationAnswer(BaseModel):
    """The answer, in camelCase or snake_case; a field that it does not have is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)

    confirmed: bool = False
    hint: str | None = None
    payload: object = None
    #: With `confirmed`: the call is to run with these arguments instead of those that the model wrote.
    edited_args: Json | None = None
    #: The call that the user was shown, echoed; another than the one that was asked about is refused.
    original_function_call: Json | None = None


def read_answer(response: FunctionResponse, asked: FunctionCall) -> ConfirmationAnswer:
    """The answer in `response` to a request about the call `asked`; raises UnusableAnswerError."""
    given = _given(response.response or {})
    try:
        answer = ConfirmationAnswer.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'the answer'}: {detail['msg']}"
            for detail in error.errors(include_url=False, include_input=False)
        )
        raise UnusableAnswerError(
            f"{problems}; answer with confirmed (true or false), and optionally payload or editedArgs"
        ) from None
    if answer.original_function_call is not None:
        _check_same(answer.original_function_call, asked)
    if answer.edited_args is not None and not answer.confirmed:
        raise UnusableAnswerError("editedArgs come with confirmed: true, or not at all")
    return answer


def _given(response: Json) -> Json:
    """The fields of the answer: as they are, as JSON text under `response`, or as an echo of the request."""
    given: object = response
    if len(response) == 1 and "response" in response:
        given = response["response"]
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except ValueError:
                raise UnusableAnswerError('`response` is no JSON text; send {"confirmed": true} as it is') from None
    if not isinstance(given, dict):
        raise UnusableAnswerError('the answer is no object; send {"confirmed": true} or {"confirmed": false}')
    fields: Json = dict(given)
    for name in ("toolConfirmation", "tool_confirmation"):
        if isinstance(echo := fields.pop(name, None), dict):
            fields = {**echo, **fields}
    return fields


def _check_same(echoed: Json, asked: FunctionCall) -> None:
    for name, value in (("id", asked.id), ("name", asked.name), ("args", as_plain(asked.args or {}))):
        if name in echoed and echoed[name] != value:
            raise UnusableAnswerError(
                f"it approves another call than the one that was asked about: {name} differs. To run the call with "
                f"other arguments, answer with confirmed: true and editedArgs"
            )
