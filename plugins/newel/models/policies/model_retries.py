"""model_retries: a request that failed is sent again, if that may help and nothing of an answer was shown."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, Field

from newel.models.kinds import Attempt, ModelPolicy, Retry
from newel_kernel import ModelError, hookimpl
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
        """The settings, changed by one option after the other."""
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


class _Tries:
    """The attempts that one call has made."""

    __slots__ = ("attempt", "count")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.count = 1


def retrying(settings: Settings) -> ModelPolicy:
    """The policy: the responses are those of the first request that answers, or the error is the last one's."""

    def retry(tries: _Tries, error: Exception, begun: bool) -> Retry | None:
        if begun or not isinstance(error, ModelError):
            return None
        options = tries.attempt.request.http_options
        own = getattr(tries.attempt.model, "retry_options", None)
        schedule = Schedule.of(settings, own, options.retry_options if options is not None else None)
        delay = schedule.delay(error, tries.count)
        if delay is None:
            return None
        logger.info("attempt %d of %d failed, the next one in %.1f s: %s", tries.count, schedule.attempts, delay, error)
        tries.count += 1
        return Retry(delay=delay)

    return ModelPolicy(name="model_retries", begin=_Tries, error=retry, after=("model_fallbacks?",))


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_retries`."""
    return [retrying(settings["model_retries"])]
