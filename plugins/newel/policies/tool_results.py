"""tool_results: what a tool returns becomes plain data within bounds, so that it can be stored and sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel, Field

from newel.contexts.stash_keys import SECRETS, Mask
from newel.policies.kept_results import keep
from newel.policies.plain_data import clean_text, plain, text_of
from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl

#: How many characters of the result a reference shows.
_PREVIEW = 1_000
#: The end of a text that is cut has this share of what stays of it.
_END = 0.25
#: No value of a dict is cut to fewer characters.
_LEAST = 200
_log = logging.getLogger("newel.tools")
#: The tools for which a warning was logged: their results have no form in JSON.
_warned_tools: set[str] = set()
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the bound."""

    #: The most characters of a result, as JSON: of a longer one the beginning and the end stay.
    max_characters: int = Field(default=100_000, ge=1_000)
    #: With an artifact service, a result of more bytes than this, or one that would be cut, becomes an artifact, and
    #: the event holds a reference; 0: never.
    artifact_above: int = Field(default=131_072, ge=0)


def bounded(result: object, most: int) -> object:
    """A plain `result` of at most `most` characters as JSON.

    A longer text is cut in its middle; of a dict, the longer values are; anything else becomes text that is cut.
    """
    if _surely_fits(result, most):
        return result
    text = _as_json(result)
    if len(text) <= most:
        return result
    if isinstance(result, str):
        return _cut(result, most)
    if isinstance(result, dict):
        share = max(most // (2 * len(result)), _LEAST)
        shortened = {key: bounded(value, share) for key, value in result.items()}
        if len(_as_json(shortened)) <= most:
            return shortened
    return {"truncated": _cut(text, most - len('{"truncated": }'))}


def _is_large(result: object, characters: int, size: int) -> bool:
    """Whether a plain `result`, which is not an error, has more characters or more bytes as JSON."""
    if isinstance(result, dict) and "error" in result:
        return False
    text = _as_json(result)
    return len(text) > characters or len(text.encode()) > size


async def _fitting(tool: BaseTool, data: object, context: Context, settings: Settings) -> object:
    """Plain `data` as an event may hold it: itself, a reference to the artifact that it became, or a part of it."""
    most, size = settings.max_characters, settings.artifact_above
    if size and _is_large(data, most, size) and (reference := await keep(tool, data, context)) is not None:
        room = most - len(_as_json(reference)) - len(', "preview": ')
        return {**reference, "preview": bounded(data, min(_PREVIEW, room))}
    return bounded(data, most)


def _surely_fits(result: object, most: int) -> bool:
    """Whether a short text, or a small flat dict of texts, fits in any case: JSON writes a character as 6 at most."""
    if type(result) is str:
        return len(result) * 6 + 2 <= most
    if type(result) is not dict or len(result) > 16:
        return False
    size = 2
    for key, value in result.items():
        if type(key) is not str or type(value) is not str:
            return False
        size += (len(key) + len(value)) * 6 + 8
    return size <= most


def _cut(text: str, most: int) -> str:
    """The beginning and the end of `text`, between them how much is left out, in at most `most` characters of JSON."""
    room = most - 64  # the note and the quotes
    while True:
        end = int(room * _END)
        note = f"… ({len(text) - room} more characters were left out) …"
        cut = f"{text[: room - end]}{note}{text[len(text) - end :]}"
        size = len(_as_json(cut))
        if size <= most:
            return cut
        room = max(room * most // size - 1, 0)  # escapes took the room


def _warn(tool: str, types: set[str]) -> None:
    """Tell the developer that a result has no form in JSON; once for each tool."""
    if tool not in _warned_tools:
        _warned_tools.add(tool)
        _log.warning(
            "newel: the tool %r returned %s, which JSON has no form for: the model gets its text; return a dict, "
            "a list, a model or a dataclass",
            tool,
            ", ".join(sorted(types)),
        )


def _secrets_of(context: Context) -> Mask | None:
    """The mask of the secrets that tools of this invocation got, or None; a call that got one has touched actions."""
    if context.touched_actions is None:
        return None
    return context.get_invocation_context().stash.get(SECRETS, None)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Settings]) -> list[ToolPolicy]:
    """The policy `tool_results`."""
    options = settings["tool_results"]
    sure = min(options.max_characters, options.artifact_above or options.max_characters)

    def wrap(call_tool: ToolCall) -> ToolCall:
        async def plainly(tool: BaseTool, args: Json, context: Context) -> object:
            failure: Exception | None = None
            try:
                result = await call_tool(tool, args, context)
            except Exception as error:
                secrets = _secrets_of(context)
                if secrets is None or (failure := secrets.mask_error(error)) is error:
                    raise
            if failure is not None:
                raise failure  # here, so that the original error is not chained
            if result is None:
                return None
            try:
                data = clean_text(result) if type(result) is str else plain(result, partial(_warn, tool.name))
                if (secrets := _secrets_of(context)) is not None:
                    data = secrets.mask(data)
                return data if _surely_fits(data, sure) else await _fitting(tool, data, context, options)
            except Exception as error:  # noqa: BLE001 - a plugin boundary: foreign objects
                _log.warning("newel: the result of the tool %r cannot be used: %s", tool.name, text_of(error))
                return {"error": f"the result of {tool.name} cannot be used: {text_of(error)}"}

        return plainly

    return [ToolPolicy(name="tool_results", wrap=wrap)]
