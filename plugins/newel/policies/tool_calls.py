"""tool_calls: the arguments that a model writes become plain data before they are stored and used."""

from __future__ import annotations

from newel.policies.plain_data import clean_text, plain, text_of
from newel_kernel import InvocationContext, LlmRequest, LlmResponse, ResponseProcessor, hookimpl
from newel_types import FunctionCall

MOST_NAME = 200


def run(ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> None:
    """Clean the texts and calls of a response: a hostile one must not make the session unreadable."""
    if response.error_message:
        response.error_message = clean_text(response.error_message)
    for part in (response.content.parts or ()) if response.content is not None else ():
        if part.text is not None:
            part.text = clean_text(part.text)
        if part.function_call is not None:
            _clean(part.function_call)


def _clean(call: FunctionCall) -> None:
    call.name = clean_text(call.name or "")[:MOST_NAME]
    if call.id:
        call.id = clean_text(call.id)[:MOST_NAME]
    try:
        args = plain(call.args or {})
    except Exception as error:  # noqa: BLE001 - a plugin boundary: a model's own objects
        call.args = {"unusable": f"the arguments could not be read: {text_of(error)}"}
        return
    if not isinstance(args, dict):
        args = {"unusable": f"the arguments are no object, but {type(args).__name__}"}
    call.args = args


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The processor `tool_calls`, after the specified ones."""
    return [ResponseProcessor(name="tool_calls", run=run, after=("code_execution",))]
