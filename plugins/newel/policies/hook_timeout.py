"""hook_timeout: a plugin's hook or processor, or an agent's callback, that takes too long fails, and is named."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import coroutine
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, field_validator

from newel_compose import HookPolicy, Placed, StagePolicy
from newel_kernel import (
    LIFECYCLE,
    Bound,
    Epilogue,
    PluginError,
    PluginHookError,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    Stage,
    did_you_mean,
    hookimpl,
)

Seconds = Annotated[float, Field(ge=0)]
T = TypeVar("T")
Step = Callable[..., Awaitable[object] | None]
#: The kinds of stages that the kernel awaits; tools and models have limits of their own.
_STEPS = (Epilogue, Prologue, RequestProcessor, ResponseProcessor, ResultProcessor)
#: Seconds that code which was cancelled may take to clean up, before it is abandoned.
_GRACE = 1.0


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the timeout. It ends what is awaited; code that blocks its thread cannot be ended."""

    #: Seconds that one call of a hook, or of an agent's callback, may take; 0: no limit, for a hook may ask a person.
    seconds: Seconds = 0.0
    #: Seconds by the hook's name; these take precedence.
    hooks: dict[str, Seconds] = Field(default_factory=dict)
    #: Seconds that one call of a processor, a prologue or an epilogue may take; 0: no limit.
    processors: Seconds = 0.0
    #: Seconds by the name of such a stage; these take precedence.
    stages: dict[str, Seconds] = Field(default_factory=dict)

    @field_validator("hooks")
    @classmethod
    def _are_hooks(cls, hooks: dict[str, float]) -> dict[str, float]:
        for name in hooks:
            if name not in LIFECYCLE:
                raise ValueError(f"{name!r} is not a hook{did_you_mean(name, LIFECYCLE)}")
        return hooks


class _Limit:
    """The time that something may take in the running task: its end cancels it, and after a while again."""

    def __init__(self, seconds: float) -> None:
        self.cancels = 0
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task is not None else 0
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._end)

    def _end(self) -> None:
        if self._task is not None:
            self.cancels += 1
            self._task.cancel()
            self._timer = self._loop.call_later(_GRACE, self._end)

    def is_cancelled_too(self) -> bool:
        """Whether somebody else has cancelled the task meanwhile."""
        return self._task is not None and self._task.cancelling() > self.cancels + self._before

    def stop(self) -> None:
        """Let it be over; what it has cancelled counts as not cancelled."""
        self._timer.cancel()
        for _ in range(self.cancels):
            if self._task is not None:
                self._task.uncancel()


@coroutine
def _driven(answer: Awaitable[T], limit: _Limit) -> Generator[Any, Any, T]:
    """Await `answer` in the running task; abandon it if it goes on after it was cancelled twice."""
    steps = answer.__await__()
    resume: Callable[[], Any] = partial(next, steps)
    while True:
        try:
            waited = resume()
        except StopIteration as ended:
            result: T = ended.value
            return result
        if limit.cancels > 1:
            with suppress(RuntimeError):  # it ignores that, too; nobody resumes it any more
                steps.close()
            raise asyncio.CancelledError
        try:
            value = yield waited
            resume = partial(steps.send, value)
        except BaseException as error:  # noqa: BLE001 - it is thrown to where it belongs
            resume = partial(steps.throw, error)


async def _ended(answer: Awaitable[T], seconds: float, what: str, failure: type[PluginError]) -> T:
    """The result of `answer`, or an error after `seconds`, also if it swallows its cancellation."""
    limit = _Limit(seconds)
    try:
        result = await _driven(answer, limit)
    except asyncio.CancelledError as error:
        if not limit.cancels or limit.is_cancelled_too():
            raise
        raise failure(what) from error
    finally:
        limit.stop()
    if limit.cancels:  # it swallowed its cancellation, and ended then
        raise failure(what)
    return result


def within(bound: Bound, seconds: float) -> Bound:
    """`bound`, whose calls end within `seconds`."""
    what = (
        f"{bound.owner} did not end {bound.hook} within {seconds:g} s; fix it, or set hook_timeout.seconds "
        f"or hook_timeout.hooks in the distribution's settings"
    )

    async def call(**keywords: object) -> object:
        answer = bound.call(**keywords)
        return await _ended(answer, seconds, what, PluginHookError) if inspect.isawaitable(answer) else answer

    return replace(bound, call=call)


def stage_within(placed: Placed, seconds: float) -> Stage:
    """The stage, whose calls end within `seconds`."""
    stage = placed.stage
    what = (
        f"the stage {stage.name!r} of the plugin {placed.plugin!r} ({placed.source}) did not end within {seconds:g} s; "
        f"fix it, or set hook_timeout.processors or hook_timeout.stages in the distribution's settings"
    )

    def limited(run: Step) -> Step:
        def call(*arguments: object) -> Awaitable[object] | None:
            answer = run(*arguments)
            return None if answer is None else _ended(answer, seconds, what, PluginError)

        return call

    result: Stage = copy.copy(stage)  # its class may be a plugin's own, with another constructor
    object.__setattr__(result, "run", limited(stage.run))
    if (for_agent := getattr(stage, "for_agent", None)) is not None:
        object.__setattr__(result, "for_agent", lambda agent: limited(for_agent(agent)))
    return result


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_hook_policies(settings: Mapping[str, Settings]) -> list[HookPolicy]:
    """The policy `hook_timeout`."""
    options = settings["hook_timeout"]

    def wrap(bound: Bound) -> Bound:
        seconds = options.hooks.get(bound.hook, options.seconds)
        return within(bound, seconds) if seconds > 0 else bound

    return [HookPolicy(name="hook_timeout", wrap=wrap)]


@hookimpl
def register_stage_policies(settings: Mapping[str, Settings]) -> list[StagePolicy]:
    """The policy `hook_timeout`, if there is a limit."""
    options = settings["hook_timeout"]
    if not options.processors and not options.stages:
        return []

    def wrap(placed: Placed) -> Stage:
        stage: Stage = placed.stage
        seconds = options.stages.get(stage.name, options.processors)
        return stage_within(placed, seconds) if seconds > 0 and isinstance(stage, _STEPS) else stage

    return [StagePolicy(name="hook_timeout", wrap=wrap, stages=tuple(options.stages))]
