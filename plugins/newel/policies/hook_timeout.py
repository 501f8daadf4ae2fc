"""hook_timeout: a plugin's hook, or an agent's callback, that takes too long fails, and is named."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from newel_compose import HookPolicy
from newel_kernel import LIFECYCLE, Bound, PluginHookError, did_you_mean, hookimpl

Seconds = Annotated[float, Field(ge=0)]


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the timeout. It ends what a hook awaits; a hook that blocks its thread cannot be ended."""

    #: Seconds that one call of a hook, or of an agent's callback, may take; 0: no limit, for a hook may ask a person.
    seconds: Seconds = 0.0
    #: Seconds by the hook's name; these take precedence.
    hooks: dict[str, Seconds] = Field(default_factory=dict)

    @field_validator("hooks")
    @classmethod
    def _are_hooks(cls, hooks: dict[str, float]) -> dict[str, float]:
        for name in hooks:
            if name not in LIFECYCLE:
                raise ValueError(f"{name!r} is not a hook{did_you_mean(name, LIFECYCLE)}")
        return hooks


def within(bound: Bound, seconds: float) -> Bound:
    """`bound`, whose calls end within `seconds`."""

    async def call(**keywords: object) -> object:
        answer = bound.call(**keywords)
        if not inspect.isawaitable(answer):
            return answer
        try:
            async with asyncio.timeout(seconds) as limit:
                return await answer
        except TimeoutError as error:
            if not limit.expired():  # the hook's own TimeoutError
                raise
            raise PluginHookError(
                f"{bound.owner} did not end {bound.hook} within {seconds:g} s; fix it, or set hook_timeout.seconds "
                f"or hook_timeout.hooks in the distribution's settings"
            ) from error

    return replace(bound, call=call)


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
