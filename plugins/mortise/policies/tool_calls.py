"""tool_calls: the arguments that a model writes become plain data before they are stored and used."""

from __future__ import annotations

from mortise.policies.plain_data import Unplain, clean_text, plain
from mortise_kernel import Event, InvocationContext, LlmRequest, LlmResponse, ResponseProcessor, hookimpl

MOST_NAME = 200


async def run(ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> list[Event] | None:
    """Clean the calls of a response: a hostile one must not make the session unreadable."""
    for part in (response.content.parts or ()) if response.content is not None else ():
        call = part.function_call
        if call is None:
            if part.text is not None and not part.text.isascii():
                part.text = clean_text(part.text)
            continue
        call.name = clean_text(call.name or "")[:MOST_NAME]
        try:
            call.args = plain(call.args or {})
        except (Unplain, RecursionError) as error:
            call.args = {"unusable": f"the arguments could not be read: {error}"}
    return None


@hookimpl
def register_response_processors() -> list[ResponseProcessor]:
    """The processor `tool_calls`, after the specified ones."""
    return [ResponseProcessor(name="tool_calls", run=run, after=("code_execution",))]
