"""Limits: how often a model is asked, with how many tokens, and how many times at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from newel.evaluation.runs.options import RateLimit
from newel_kernel import seam

_WINDOW = 60.0
_FIRST_DELAY, _MOST_DELAY, ATTEMPTS = 5.0, 120.0, 7
_BUSY = frozenset((429, 503, 529))


class Limiter:
    """The limits of one model, over the last minute."""

    def __init__(
        self,
        limit: RateLimit,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limit = limit
        self._clock = clock or (lambda: seam.monotonic())
        self._sleep = sleep
        #: Of each call of the last minute: when it began, and its tokens.
        self._calls: deque[list[float]] = deque()
        self._slots = asyncio.Semaphore(limit.concurrent) if limit.concurrent else None
        self._closed_until = float("-inf")

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[list[float]]:
        """Wait until a call may be made; the second item of the yielded list is for the call's tokens."""
        if self._slots is not None:
            await self._slots.acquire()
        try:
            yield await self.admit()
        finally:
            if self._slots is not None:
                self._slots.release()

    async def admit(self) -> list[float]:
        """Wait for the rates only, not for a slot."""
        while (delay := self._delay()) > 0:
            await self._sleep(delay)
        call = [self._clock(), 0.0]
        self._calls.append(call)
        return call

    def close(self, seconds: float) -> None:
        """Admit no call for some seconds: the provider asked for it."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def _delay(self) -> float:
        now = self._clock()
        while self._calls and self._calls[0][0] <= now - _WINDOW:
            self._calls.popleft()
        delay = self._closed_until - now
        if self._limit.per_minute and len(self._calls) >= self._limit.per_minute:
            delay = max(delay, self._calls[-self._limit.per_minute][0] + _WINDOW - now)
        if self._limit.tokens_per_minute:
            delay = max(delay, self._token_delay(self._limit.tokens_per_minute, now))
        return delay

    def _token_delay(self, most: int, now: float) -> float:
        used = sum(tokens for _, tokens in self._calls)
        for began, tokens in self._calls:
            if used < most:
                break
            used -= tokens
            if used < most:
                return began + _WINDOW - now
        return 0.0


class Limits:
    """The limiters of a run by model; a model without limits has one that only obeys the provider."""

    def __init__(
        self,
        limits: Mapping[str, RateLimit],
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._clock, self._sleep = clock, sleep
        self._limiters: dict[str, Limiter] = {}

    def of(self, model: str) -> Limiter:
        """The limiter of a model."""
        if model not in self._limiters:
            limit = self._limits.get(model) or self._limits.get("*") or RateLimit()
            self._limiters[model] = Limiter(limit, self._clock, self._sleep)
        return self._limiters[model]


def retry_delay(error: BaseException, attempt: int) -> float | None:
    """The seconds to wait before a busy provider is asked again; None for other errors, and after the last attempt.

    `attempt` counts from 1. Errors of a networked provider were already retried by the model's own policy.
    """
    if attempt >= ATTEMPTS or getattr(error, "provider", None) or not _busy(error):
        return None
    seconds = _retry_after(error)
    return seconds if seconds is not None else min(_FIRST_DELAY * 2 ** (attempt - 1), _MOST_DELAY)


def _busy(error: BaseException) -> bool:
    codes = (getattr(error, name, None) for name in ("status_code", "status", "code"))
    return any(code in _BUSY or (isinstance(code, str) and code.isdigit() and int(code) in _BUSY) for code in codes)


def _retry_after(error: BaseException) -> float | None:
    value = getattr(error, "retry_after", None)
    if value is None:
        headers: Any = getattr(getattr(error, "response", None), "headers", None)
        value = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
    try:
        return max(0.0, float(value)) if value is not None else None
    except (TypeError, ValueError):
        return None
