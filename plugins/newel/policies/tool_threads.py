"""tool_threads: synchronous function tools run in a bounded pool of threads, so that none stalls the event loop.

A thread costs more than most functions do. A function that has returned at once many times in a row runs in place
from then on. If it takes longer there it goes back to the threads until it has been quick four times as often, or
sixteen times if it stalled the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from pydantic import BaseModel, Field

from newel.policies.thread_pool import Pool
from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the pool."""

    #: The most threads.
    max_workers: int = Field(default=8, ge=1)
    #: After how many quick calls in a row a function runs in place; 0: never.
    in_place_after: int = Field(default=20, ge=0)
    #: The longest duration of a quick call, in seconds.
    quick: float = Field(default=0.000_2, ge=0)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Settings]) -> list[ToolPolicy]:
    """The policy `tool_threads`."""
    options: Settings = settings["tool_threads"]
    pool = Pool(options.max_workers, options.in_place_after, options.quick)

    def wrap(call_tool: ToolCall) -> ToolCall:
        def threaded(tool: BaseTool, args: Json, context: Context) -> Awaitable[object]:
            context.call_sync = pool.call
            return call_tool(tool, args, context)

        return threaded

    return [ToolPolicy(name="tool_threads", wrap=wrap)]
