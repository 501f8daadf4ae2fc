"""tool_timeout: a tool call that takes too long is an error result."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from typing import Annotated

from pydantic import BaseModel, Field

from newel.policies.time_limits import out_of_time
from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl

_SETTING = "settings: tool_timeout.seconds"
Seconds = Annotated[float, Field(ge=0)]


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the timeout."""

    #: Seconds that a call may take; 0: no limit. A tool's own `timeout`, in seconds, replaces it.
    seconds: Seconds = 0.0
    #: Seconds by tool name, which replace both (0: no limit).
    tools: dict[str, Seconds] = {}


class _Rest:
    """The rest of a coroutine that has run up to its first wait, as an awaitable."""

    __slots__ = ("_awaited", "_steps")

    def __init__(self, steps: Generator[object, object, object], awaited: object) -> None:
        self._steps = steps
        self._awaited = awaited

    def __await__(self) -> Generator[object, object, object]:
        awaited = self._awaited
        try:
            while True:
                try:
                    sent = yield awaited
                except BaseException as error:  # noqa: BLE001 - a cancellation, for example, is for the coroutine
                    awaited = self._steps.throw(error)
                else:
                    awaited = self._steps.send(sent)
        except StopIteration as done:
            return done.value


def _limit(tool: BaseTool, settings: Settings) -> tuple[float, str]:
    """The seconds that a call of `tool` may take, and where the limit is set."""
    if (seconds := settings.tools.get(tool.name)) is not None:
        return seconds, "settings: tool_timeout.tools"
    own = getattr(tool, "timeout", None)  # a tool may mean something else by the name
    return (own, "the tool's timeout") if isinstance(own, (int, float)) else (settings.seconds, _SETTING)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Settings]) -> list[ToolPolicy]:
    """The policy `tool_timeout`."""
    options: Settings = settings["tool_timeout"]

    def wrap(call_tool: ToolCall) -> ToolCall:
        async def bounded(tool: BaseTool, args: Json, context: Context) -> object:
            seconds, where = _limit(tool, options)
            if seconds <= 0:
                return await call_tool(tool, args, context)
            steps = call_tool(tool, args, context).__await__()
            try:
                awaited = next(steps)
            except StopIteration as done:  # it never waited: setting a timer would have cost more than a small tool
                return done.value
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await _Rest(steps, awaited)
            except TimeoutError:
                if not limit.expired():  # the tool's own TimeoutError
                    raise
                return out_of_time(tool.name, seconds, where)

        return bounded

    return [ToolPolicy(name="tool_timeout", wrap=wrap)]
