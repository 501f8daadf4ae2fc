"""model_retries: a request that failed is sent again, where that may help and nothing of an answer was shown."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from pydantic import BaseModel, Field

from newel.models.kinds import ModelCall, ModelPolicy
from newel_kernel import BaseLlm, Chains, LlmRequest, LlmResponse, ModelError, hookimpl
from newel_types import HttpRetryOptions

logger = logging.getLogger(__name__)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of retries; a model's own `retry_options`, and those of a request, take precedence."""

    #: The most requests in all; 1: no retries.
    attempts: int = Field(default=4, ge=1)
    #: The most seconds before the second request; they double each time.
    initial_delay: float = Field(default=0.5, ge=0)
    #: The most seconds before any request.
    max_delay: float = Field(default=30.0, ge=0)
    #: The most seconds that a service may ask to wait; if it asks for more, the error goes to the caller.
    longest_wait: float = Field(default=60.0, ge=0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often and when. Delays have full jitter: any time between 0 and a growing bound."""

    attempts: int
    initial: float
    base: float
    most: float
    longest_wait: float
    codes: frozenset[int] | None = None

    @classmethod
    def of(cls, settings: Settings, *options: HttpRetryOptions | None) -> Schedule:
        """The settings, changed by the options in turn."""
        values = {
            "attempts": settings.attempts,
            "initial_delay": settings.initial_delay,
            "exp_base": 2.0,
            "max_delay": settings.max_delay,
        }
        codes: frozenset[int] | None = None
        for one in options:
            if one is None:
                continue
            values |= {name: value for name in values if (value := getattr(one, name)) is not None}
            codes = codes if one.http_status_codes is None else frozenset(one.http_status_codes)
        return cls(
            max(1, int(values["attempts"])),
            values["initial_delay"],
            values["exp_base"],
            values["max_delay"],
            settings.longest_wait,
            codes,
        )

    def delay(self, error: ModelError, attempt: int) -> float | None:
        """The seconds until the next attempt after `attempt` (from 1); None: no further attempt."""
        code = error.code
        repeats = code in self.codes if self.codes is not None and isinstance(code, int) else error.retryable
        if attempt >= self.attempts or not repeats:
            return None
        bound = min(self.most, self.initial * self.base ** (attempt - 1))
        jitter = random.uniform(0, bound)  # noqa: S311 - no secret
        if error.retry_after is None:
            return jitter
        return error.retry_after + min(jitter, 0.1) if error.retry_after <= self.longest_wait else None


async def repeating(
    call: ModelCall, model: BaseLlm, request: LlmRequest, stream: bool, settings: Settings
) -> AsyncGenerator[LlmResponse, None]:
    """The responses of the first request that answers, or the last one's error."""
    options = request.config.http_options
    schedule = Schedule.of(
        settings, getattr(model, "retry_options", None), options.retry_options if options is not None else None
    )
    attempt = 0
    while True:
        attempt += 1
        began = False
        try:
            async with aclosing(call(model, request, stream)) as responses:
                async for response in responses:
                    began = True
                    yield response
            return
        except ModelError as error:
            delay = None if began else schedule.delay(error, attempt)
            if delay is None:
                raise
            logger.info("attempt %d of %d failed, the next one in %.1f s: %s", attempt, schedule.attempts, delay, error)
        await asyncio.sleep(delay)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_retries`."""
    options = settings["model_retries"]

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        return lambda model, request, stream: repeating(call, model, request, stream, options)

    return [ModelPolicy(name="model_retries", wrap=wrap, after=("model_fallbacks",))]
