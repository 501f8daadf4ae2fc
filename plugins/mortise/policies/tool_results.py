"""tool_results: what a tool returns becomes plain data within bounds, so that it can be stored and sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from mortise.policies.plain_data import Unplain, plain
from mortise_kernel import BaseTool, Context, ToolPolicy, hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of the bound."""

    #: The most characters of a result, as JSON.
    max_characters: int = Field(default=200_000, ge=1_000)


def bounded(result: Any, most: int) -> Any:
    """A plain `result` of at most `most` characters: a longer text is cut, anything else longer becomes cut text."""
    if isinstance(result, str):
        return _cut(result, most)
    if result is None or isinstance(result, (bool, int, float)):
        return result
    text = json.dumps(result, ensure_ascii=False)
    if len(text) <= most:
        return result
    if isinstance(result, dict):
        share = max(most // (2 * len(result)), 200)
        shortened = {key: bounded(value, share) if len(str(value)) > share else value for key, value in result.items()}
        if len(json.dumps(shortened, ensure_ascii=False)) <= most:
            return shortened
    return {"truncated": _cut(text, most)}


def _cut(text: str, most: int) -> str:
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}… ({left_out} more characters were left out)"


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Any]) -> list[ToolPolicy]:
    """The policy `tool_results`."""
    most = settings["tool_results"].max_characters

    def wrap(call_tool: Callable[..., Any]) -> Callable[..., Any]:
        async def plainly(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
            result = await call_tool(tool, args, context)
            if result is None or (isinstance(result, str) and result.isascii() and len(result) <= most):
                return result
            try:
                return bounded(plain(result), most)
            except (Unplain, RecursionError) as error:
                return {"error": f"the result of {tool.name} cannot be used: {error}"}

        return plainly

    return [ToolPolicy(name="tool_results", wrap=wrap)]
