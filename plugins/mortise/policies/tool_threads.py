"""tool_threads: synchronous function tools run in a bounded pool of threads, so that none stalls the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from mortise_kernel import BaseTool, Context, ToolPolicy, hookimpl


class Settings(BaseModel, extra="forbid"):
    """Settings of the pool."""

    #: The most threads.
    max_workers: int = Field(default=8, ge=1)


class Pool:
    """The threads, started at first use; a forked child starts its own."""

    def __init__(self, max_workers: int) -> None:
        self._max_workers = max_workers
        self._executor: ThreadPoolExecutor | None = None
        self._pid = 0

    async def call(self, function: Callable[..., Any], values: dict[str, Any]) -> Any:
        """Call `function` in a thread, with the context variables of the caller."""
        if self._executor is None or self._pid != os.getpid():
            self._executor = ThreadPoolExecutor(self._max_workers, thread_name_prefix="mortise-tool")
            self._pid = os.getpid()
        work = partial(copy_context().run, _quietly, function, values)
        outcome, error = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        if error is not None:
            raise error
        return outcome


def _quietly(function: Callable[..., Any], values: dict[str, Any]) -> tuple[Any, BaseException | None]:
    """The result or the error of a call; a StopIteration, say, cannot be set on a future."""
    try:
        return function(**values), None
    except BaseException as error:  # noqa: BLE001 - a plugin boundary; the caller raises it
        return None, error


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_tool_policies(settings: Mapping[str, Any]) -> list[ToolPolicy]:
    """The policy `tool_threads`."""
    pool = Pool(settings["tool_threads"].max_workers)

    def wrap(call_tool: Callable[..., Any]) -> Callable[..., Any]:
        def threaded(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
            context.call_sync = pool.call
            return call_tool(tool, args, context)

        return threaded

    return [ToolPolicy(name="tool_threads", wrap=wrap)]
