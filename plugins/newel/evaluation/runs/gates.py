"""Gates: limits, recordings and accounts around the model calls and tool calls of one unit of a run."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress

from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.inference.effects import EffectGate
from newel.evaluation.judges.model_calls import Send
from newel.evaluation.runs.accounts import accounts
from newel.evaluation.runs.cassettes import Cassette
from newel.evaluation.runs.limits import Limits, retry_delay
from newel.models.recorded_requests import key_of
from newel_kernel import LlmRequest, LlmResponse, seam


class JudgeGate:
    """Limits, recordings and accounts of the calls that the evaluation makes itself."""

    def __init__(self, limits: Limits, cassette: Cassette | None, repeat: int, slots: asyncio.Semaphore) -> None:
        self._limits, self._cassette, self._repeat = limits, cassette, repeat
        self._slots = slots

    async def call(self, role: str, model: str, request: LlmRequest, sample: int, send: Send) -> LlmResponse:
        """The recorded answer, or the model's."""
        name = f"{self._repeat}.{sample}"
        if self._cassette is not None and (record := self._cassette.find(role, model, request, name)) is not None:
            return record
        copy = LlmRequest(model=model, contents=list(request.contents), config=request.config)
        began = seam.monotonic()
        # A simulated user speaks within a conversation, which already holds a slot.
        async with self._slots if role == "judge" else nullcontext():
            answer = await self._admitted(model, request, send)
        usage = accounts.get()
        if usage is not None:
            usage.of(role).add(model, answer.usage_metadata, seam.monotonic() - began)
        if self._cassette is not None:
            self._cassette.keep(role, model, copy, name, answer)
        return answer

    async def _admitted(self, model: str, request: LlmRequest, send: Send) -> LlmResponse:
        limiter = self._limits.of(model)
        attempt = 1
        while True:
            async with limiter.slot() as call:
                try:
                    answer = await send(LlmRequest(model=model, contents=request.contents, config=request.config))
                except Exception as error:
                    delay = retry_delay(error, attempt)
                    if delay is None:
                        raise
                    limiter.close(delay)
                else:
                    call[1] = float(getattr(answer.usage_metadata, "total_token_count", None) or 0)
                    return answer
            attempt += 1


class UnitGate(EffectGate):
    """The same for an agent's calls; it also decides which of its tools may run."""

    def __init__(
        self, case: EvalCase, repeat: int, limits: Limits, cassette: Cassette | None, allow_effects: bool
    ) -> None:
        super().__init__(case, allow_effects)
        self._limits, self._cassette, self._repeat = limits, cassette, repeat
        #: How often each request was made, so that a repeated one is another sample.
        self._counts: dict[str, int] = {}
        self._open: dict[str, tuple[LlmRequest, str, list[float]]] = {}

    async def before_model(self, key: str, request: LlmRequest) -> LlmResponse | None:
        """A recorded answer, or None once the limits let the call through."""
        model = request.model or ""
        sample = ""
        if self._cassette is not None:
            bare = key_of(request, model=model)
            self._counts[bare] = self._counts.get(bare, -1) + 1
            sample = f"{self._repeat}.{self._counts[bare]}"
            record = self._cassette.find("agent", model, request, sample)
            if record is not None:
                return record
        copy = LlmRequest(model=model, contents=list(request.contents), config=request.config)
        self._open[key] = (copy, sample, await self._limits.of(model).admit())
        return None

    async def after_model(self, key: str, response: LlmResponse) -> None:
        """Record the answer."""
        request, sample, call = self._open.pop(key, (None, "", [0.0, 0.0]))
        call[1] = float(getattr(response.usage_metadata, "total_token_count", None) or 0)
        if request is not None and self._cassette is not None:
            self._cassette.keep("agent", request.model or "", request, sample, response)

    async def model_failed(self, key: str, request: LlmRequest, error: Exception) -> LlmResponse | None:
        """Close the model for the time that a busy provider asks for; the failure is left to the agent."""
        with suppress(KeyError):
            self._open.pop(key)
        delay = retry_delay(error, 1)
        if delay is not None:
            self._limits.of(request.model or "").close(delay)
        return None
