"""The policy around each call of a model: it waits for its turn before the model is asked."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

from newel.limits.admission import current_tenant
from newel.limits.gates import Gates, Kind, Waiting, gate_id
from newel.limits.holding import holding, left
from newel.limits.places import gates_of
from newel.limits.settings import Settings, bounds_of
from newel.models.kinds import ModelCall, ModelPolicy
from newel_kernel import InvocationContext, Key, LlmRequest, LlmResponse, ModelError, RequestProcessor, seam

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm
    from newel_kernel import Chains

PLUGIN = "limits"
CODE = "LIMIT_EXCEEDED"
_WAITING = Waiting(0.02, 1.0)
#: In a request: the gates of the sessions that it belongs to.
_GATES = Key[Gates]("the gates of a request")


class LimitExceededError(ModelError):
    """A call of a model had no turn in time."""


def policy_of(settings: Settings) -> ModelPolicy:
    """The policy: within retries, each of which takes a turn, and outside of time limits: waiting counts for none."""

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        def limited(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            gates = request.stash.get(_GATES, None)
            answers = call(model, request, stream)
            return answers if gates is None else _Call(settings, gates, request.model or model.model).around(answers)

        return limited

    return ModelPolicy(
        name=PLUGIN,
        wrap=wrap,
        everywhere=True,
        after=("model_retries?", "model_traffic?"),
        before=("budgets?", "model_timeouts?", "malformed_calls?"),
    )


def processor() -> RequestProcessor:
    """The step that notes in each request where its gates are."""

    async def note(ctx: InvocationContext, request: LlmRequest) -> None:
        request.stash[_GATES] = gates_of(ctx.session_service, ctx.composition)

    return RequestProcessor(name=PLUGIN, run=note, after=("basic?",))


class _Call:
    """One call, and the turns that it takes."""

    def __init__(self, settings: Settings, gates: Gates, model: str) -> None:
        self._settings = settings
        self._gates = gates
        self._model = model
        self._ends = seam.monotonic() + settings.wait_seconds

    async def around(self, answers: AsyncGenerator[LlmResponse, None]) -> AsyncGenerator[LlmResponse, None]:
        """The responses, once it is this call's turn."""
        async with AsyncExitStack() as turns, aclosing(answers):
            await self._pace("tenant_calls", current_tenant())
            bounds = bounds_of(self._settings.models, self._model)
            if bounds is not None and bounds.concurrency is not None:
                await self._enter(turns, bounds.concurrency)
            await self._pace("model_calls", self._model)
            async for response in answers:
                yield response

    async def _pace(self, kind: Kind, name: str) -> None:
        """Wait for the time that is this call's, at so many per second."""
        bounds = bounds_of(self._settings.tenants if kind == "tenant_calls" else self._settings.models, name)
        if bounds is None or bounds.calls_per_second is None:
            return
        seconds = await self._gates.pace(gate_id(kind, name), bounds.calls_per_second, self._left())
        if seconds is None:
            raise self._late(f"{bounds.calls_per_second:g} calls per second")
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _enter(self, turns: AsyncExitStack, limit: int) -> None:
        """Wait for a place among the calls of the model that are made at a time."""
        gate, ticket, lease = gate_id("model", self._model), seam.new_id(), self._settings.lease_seconds
        try:
            while not (turn := await self._gates.enter(gate, ticket, limit, lease, _WAITING)).held:
                if turn.seconds > self._left():
                    raise self._late(f"{limit} at a time")
                await asyncio.sleep(turn.seconds * (0.75 + random.random() / 2))  # noqa: S311 - two must not ask in step
        except BaseException:
            await left(self._gates, gate, ticket)
            raise
        await turns.enter_async_context(holding(self._gates, gate, ticket, lease))

    def _left(self) -> float:
        return max(self._ends - seam.monotonic(), 0.0)

    def _late(self, limit: str) -> LimitExceededError:
        seconds = self._settings.wait_seconds
        message = f"the call of {self._model} had no turn within {seconds:g} s: the limit is {limit}"
        return LimitExceededError(message, code=CODE, model=self._model)
