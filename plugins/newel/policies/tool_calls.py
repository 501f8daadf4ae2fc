"""tool_calls: the calls that a model writes become plain data, and few enough, before they are stored and used."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel, Field

from newel.policies.plain_data import clean_text, plain, text_of
from newel_kernel import InvocationContext, LlmRequest, LlmResponse, ResponseProcessor, hookimpl
from newel_types import Content, FunctionCall

_log = logging.getLogger(__name__)
MOST_NAME = 200
#: In the metadata of a response's event: how many of its calls were left out.
LEFT_OUT = "calls_left_out"


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the bound."""

    #: The most calls of one response. Later ones are left out: the model sees in its history which ones ran.
    max_calls: int = Field(default=100, ge=1)


def limit_calls(response: LlmResponse, content: Content, most: int) -> None:
    """Leave out the calls of a response beyond `most`."""
    calls = [part for part in content.parts or () if part.function_call is not None]
    left_out = {id(part) for part in calls[most:]}
    parts = [part for part in content.parts or () if id(part) not in left_out]
    response.content = content.model_copy(update={"parts": parts})
    response.custom_metadata = {**(response.custom_metadata or {}), LEFT_OUT: len(left_out)}
    _log.warning(
        "a response of the model had %d tool calls; the first %d are run, the others left out (settings: "
        "tool_calls.max_calls)",
        len(calls),
        most,
    )


def clean(most: int, ctx: InvocationContext, request: LlmRequest, response: LlmResponse) -> None:
    """Clean the texts and at most `most` calls of a response: a hostile one must not make the session unreadable."""
    if response.sparse_values is not LlmResponse.no_sparse and response.error_message:
        response.error_message = clean_text(response.error_message)
    if (content := response.content) is None:
        return
    calls = 0
    for part in content.parts or ():
        if part.function_call is not None:
            calls += 1
            if calls <= most or response.partial:
                _clean(part.function_call)
        if (text := part.text) is not None:
            part.text = clean_text(text)
    if calls > most and not response.partial:  # a chunk's calls are not run
        limit_calls(response, content, most)


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
        args = {"unusable": f"the arguments must be a JSON object, not {type(args).__name__}"}
    call.args = args


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_response_processors(settings: Mapping[str, Settings]) -> list[ResponseProcessor]:
    """The processor `tool_calls`, after the specified ones."""
    run = partial(clean, settings["tool_calls"].max_calls)
    return [ResponseProcessor(name="tool_calls", run=run, after=("code_execution",))]
