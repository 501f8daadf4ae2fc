"""model_traffic: how many requests a provider gets at once and in a minute."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from pydantic import BaseModel, Field

from newel.connections import PerLoop
from newel.models.kinds import Attempt, ModelPolicy
from newel_kernel import hookimpl, seam


class Bounds(BaseModel, extra="forbid"):
    """The bounds of one provider."""

    #: The most requests at once; None: any number.
    concurrent: int | None = Field(default=None, ge=1)
    #: The most requests that begin within any 60 seconds.
    per_minute: int | None = Field(default=None, ge=1)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of traffic."""

    #: By provider, as in addresses; the others are not bounded.
    providers: dict[str, Bounds] = Field(default_factory=dict)


class Gate:
    """Lets the requests to one provider pass in their order, in one event loop."""

    def __init__(self, bounds: Bounds) -> None:
        self._places = asyncio.Semaphore(bounds.concurrent) if bounds.concurrent else None
        self._most = bounds.per_minute
        self._begun: deque[float] = deque(maxlen=bounds.per_minute)
        self._turn = asyncio.Lock()

    async def enter(self) -> None:
        """Wait for a place."""
        if self._places is not None:
            await self._places.acquire()
        try:
            await self._wait()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        if self._places is not None:
            self._places.release()

    async def _wait(self) -> None:
        if self._most is None:
            return
        async with self._turn:
            if len(self._begun) == self._most and (delay := self._begun[0] + 60 - seam.monotonic()) > 0:
                await asyncio.sleep(delay)
            self._begun.append(seam.monotonic())


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_traffic`."""
    bounds = settings["model_traffic"].providers
    if not bounds:
        return [ModelPolicy(name="model_traffic", after=("model_retries?",))]
    gates: PerLoop[dict[str, Gate]] = PerLoop(dict)

    def begin(attempt: Attempt) -> Gate | None:
        """The gate of the model's provider, in this event loop; None if the provider is not bounded."""
        provider = getattr(attempt.model, "provider", "")
        if provider not in bounds:
            return None
        of_loop = gates.get()
        if provider not in of_loop:
            of_loop[provider] = Gate(bounds[provider])
        return of_loop[provider]

    return [
        ModelPolicy(name="model_traffic", begin=begin, enter=Gate.enter, close=Gate.leave, after=("model_retries?",))
    ]
