"""Retries of nodes: which failures, how often, after how long."""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

from pydantic import Field, field_validator

from newel_kernel import did_you_mean
from newel_types import FieldSignature, OneLineErrors

_ATTEMPTS = 5
_INITIAL_SECONDS = 1.0
_MOST_SECONDS = 60.0
_FACTOR = 2.0
_JITTER = 1.0


class RetryConfig(OneLineErrors, extra="forbid", defer_build=True):
    """How a failed node is tried again: exponential back-off in seconds, with jitter.

    `max_attempts` counts the first one (default 5; 0 and 1 mean no retry). `jitter` is the part of a delay that
    is random, either way. `exceptions` (classes or their names; default: all) match their subclasses too. The name of
    a class that nothing has imported yet is given with its module: ``httpx.ConnectError``.
    """

    #: How often the node is tried, the first time included; None: 5.
    max_attempts: int | None = Field(default=None, ge=0)
    #: Seconds before the second attempt; None: 1.
    initial_delay: float | None = Field(default=None, ge=0)
    #: The most seconds between two attempts; None: 60.
    max_delay: float | None = Field(default=None, ge=0)
    #: By how much each delay is longer than the one before; None: 2.
    backoff_factor: float | None = Field(default=None, gt=0)
    #: The part of a delay that is random, either way; None: 1.
    jitter: float | None = Field(default=None, ge=0)
    #: Which failures are tried again: exception classes or their names; None: all.
    exceptions: Sequence[str | type[BaseException]] | None = None

    __signature__: ClassVar[Any] = FieldSignature()

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        cls.__signature__ = FieldSignature()  # pydantic has set its own

    @field_validator("exceptions", mode="before")
    @classmethod
    def _as_names(cls, value: object) -> object:
        if not isinstance(value, (list, tuple, set)):
            return value
        return [_name(entry) for entry in value]

    def delay(self, error: BaseException, attempt: int) -> float | None:
        """Seconds to wait after the `attempt`-th attempt (from 1) failed with `error`; None: give up."""
        most = _ATTEMPTS if self.max_attempts is None else self.max_attempts
        if attempt >= most or not self._covers(error):
            return None
        seconds = _or(self.initial_delay, _INITIAL_SECONDS)
        limit = _or(self.max_delay, _MOST_SECONDS)
        factor = _or(self.backoff_factor, _FACTOR)
        for _ in range(attempt - 1):  # not a power: that overflows long after the limit is reached
            if seconds >= limit and factor >= 1:
                break
            seconds *= factor
        seconds = min(seconds, limit)
        jitter = _or(self.jitter, _JITTER)
        return max(0.0, seconds * (1 + random.uniform(-jitter, jitter)))  # noqa: S311 - nobody gains by guessing it

    def _covers(self, error: BaseException) -> bool:
        if self.exceptions is None:
            return True
        return any(
            kind.__name__ in self.exceptions or f"{kind.__module__}.{kind.__qualname__}" in self.exceptions
            for kind in type(error).__mro__
        )


def _name(entry: object) -> str:
    if isinstance(entry, str):
        return _checked(entry)
    if isinstance(entry, type) and issubclass(entry, BaseException):
        return entry.__name__
    raise ValueError(f"RetryConfig.exceptions takes exception classes and their names, not {entry!r}")


def _checked(name: str) -> str:
    """`name`, if an exception has it: a misspelt one would match nothing, and the node would never be tried again."""
    module, _, own = name.rpartition(".")
    if module:
        try:
            kind = getattr(import_module(module), own)
        except (ImportError, AttributeError):
            kind = None
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return f"{kind.__module__}.{kind.__qualname__}"
        raise ValueError(f"RetryConfig.exceptions: there is no exception {name!r}")
    if isinstance(getattr(builtins, name, None), type) or name in (known := {*_known(BaseException)}):
        return name
    raise ValueError(
        f"RetryConfig.exceptions: no exception is named {name!r}{did_you_mean(name, known)}; give the class, or its "
        f"name with its module (httpx.ConnectError) if nothing has imported it yet"
    )


def _known(kind: type[BaseException]) -> Iterator[str]:
    """The names of the exceptions that are loaded."""
    waiting, seen = [kind], {kind}
    while waiting:
        yield (one := waiting.pop()).__name__
        below = [sub for sub in type.__subclasses__(one) if sub not in seen]
        seen.update(below)
        waiting += below


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
