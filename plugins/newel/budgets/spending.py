"""The policy around each call: held on the accounts of its payer before it is made, and settled after it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from newel.budgets.errors import BudgetExceededError, exceeded
from newel.budgets.estimates import Experience
from newel.budgets.ledger import Claim, Verdict
from newel.budgets.payer import Payer, payer_of
from newel.budgets.prices import Pricing
from newel.budgets.settings import Settings
from newel.budgets.telling import of_refusal, of_settlement, tell
from newel.contexts.limits import Limit, Unit, account_id
from newel.models.kinds import ModelCall
from newel.models.policies import model_timeouts
from newel.models.token_estimates import tokens_of_content
from newel.models.wire.limits import Limits
from newel.models.wire.service import UNREACHABLE, NotConnectedError
from newel_kernel import Key, LlmRequest, LlmResponse, ModelError, SessionError, seam
from newel_types import GenerateContentResponseUsageMetadata as Usage

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm
    from newel_kernel import Chains

logger = logging.getLogger(__name__)

#: Of a request: the accounts whose limit let another model answer; that one is only counted there.
_PASSED = Key[frozenset[str]]("budgets that let a cheaper model answer", frozenset)
#: How long to wait before asking again whether others have ended, at first and at most, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25
#: Failures after which a service may have worked on the request, and charge for it.
_UNCERTAIN = (408, 504, UNREACHABLE, "TIMEOUT", "INCOMPLETE_STREAM", "MALFORMED_RESPONSE", "RESPONSE_TOO_LARGE")


def limiting(settings: Settings) -> Callable[[ModelCall, Chains], ModelCall]:
    """The policy's `wrap`."""

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        experiences: dict[tuple[str, str], Experience] = {}
        most_seconds = chains.settings_of("model_timeouts", model_timeouts.Settings).total

        def limited(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            payer = payer_of(request)
            if payer is None:
                return call(model, request, stream)
            bounds = Limits(total=most_seconds).for_call(request.http_options)
            name = (getattr(model, "provider", ""), request.model or model.model)
            pricing = Pricing(settings, model, request, experiences.setdefault(name, Experience()))
            spending = _Spending(settings, payer, model, request, bounds.total, pricing)
            return spending.around(call(model, request, stream))

        return limited

    return wrap


class _Spending:
    """One call, and what it takes."""

    def __init__(
        self, settings: Settings, payer: Payer, model: BaseLlm, request: LlmRequest, seconds: float, pricing: Pricing
    ) -> None:
        self._settings = settings
        self._payer = payer
        self._model = model
        self._request = request
        self._seconds = seconds
        self._hold = seam.new_id()
        self._pricing = pricing
        self._claims: Sequence[Claim] = ()
        self._limits: dict[Claim, Limit] = {}
        self._renewal: asyncio.Task[None] | None = None
        #: The usage of whole responses, that of the last chunk, and about how many tokens were received.
        self._whole: list[Usage] = []
        self._chunk: Usage | None = None
        self._received = 0
        self._version: str | None = None
        #: For how long it has waited for others, in seconds.
        self._waited = 0.0

    async def around(self, answers: AsyncGenerator[LlmResponse, None]) -> AsyncGenerator[LlmResponse, None]:
        """The responses. The call is settled before the last one goes on: what follows may call models itself."""
        await self._reserve()
        began, last = seam.monotonic(), None
        try:
            async with aclosing(answers) as responses:
                async for response in responses:
                    if last is not None:
                        yield last
                        last = None
                    self._see(response)
                    if response.partial:
                        yield response
                    else:
                        last = response
        except BaseException as error:
            await self._settle(seam.monotonic() - began, error)
            raise
        await self._settle(seam.monotonic() - began, None)
        if last is not None:
            yield last

    async def _reserve(self) -> None:
        """Hold the call on all accounts; wait while others may use up what is left."""
        began, pause = seam.monotonic(), _FIRST_PAUSE
        while True:
            now = seam.clock()
            self._claim(now)
            verdict = await self._held()
            if verdict.state == "held":
                self._renewal = seam.spawn(self._renew())
                return
            self._waited = waited = seam.monotonic() - began
            if verdict.state == "refused" or waited >= self._settings.wait_seconds:
                raise self._refusal(verdict, now, waited if verdict.state == "waits" else None)
            await asyncio.sleep(pause * (0.5 + random.random()))  # noqa: S311 - two must not ask in step
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _claim(self, now: float) -> None:
        """Say what the call may take, from the accounts of this moment."""
        passed = self._request.stash.get(_PASSED, frozenset())
        self._limits = {}
        for limit in self._payer.limits:
            account = account_id(limit, self._payer.owner, now)
            for unit, most in limit.amounts():
                own = None if account in passed and limit.at_limit == "cheaper" else most
                claim = Claim(account, unit, own, self._pricing.most(unit, self._seconds))
                self._limits.setdefault(claim, limit)
        self._claims = list(self._limits)

    async def _held(self) -> Verdict:
        try:
            return await self._payer.ledger.reserve(self._hold, self._claims, self._settings.lease_seconds)
        except (asyncio.CancelledError, SessionError):  # it may be held: the store finishes what it has begun
            await self._end({})
            raise

    def _refusal(self, verdict: Verdict, now: float, waited: float | None) -> BudgetExceededError:
        assert verdict.claim is not None
        limit = self._limits[verdict.claim]
        error = exceeded(limit, verdict, now, waited=waited)
        tell("refused" if not error.other_model_helps else "cheaper", of_refusal(limit, verdict))
        if error.other_model_helps:
            stash = self._request.stash
            stash[_PASSED] = stash.get(_PASSED, frozenset()) | {verdict.claim.account}
        return error

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_seconds / 3)
            with suppress(SessionError):  # the next one may succeed
                await self._payer.ledger.renew(self._hold, self._claims, self._settings.lease_seconds)

    def _see(self, response: LlmResponse) -> None:
        self._version = response.model_version or self._version
        usage: Any = response.usage_metadata
        if response.partial:
            self._chunk = usage or self._chunk
        elif usage is not None:
            self._whole.append(usage)
        if response.content is not None and (response.partial or not self._received):
            self._received += tokens_of_content(response.content, self._model.provider_name)

    async def _settle(self, seconds: float, error: BaseException | None) -> None:
        """Write what the call took."""
        if self._renewal is not None:
            self._renewal.cancel()
        used = self._used(seconds, error)
        tell("settled", of_settlement(used, self._waited))
        await self._end(used)

    async def _end(self, used: Mapping[Unit, int]) -> None:
        """End the hold. It goes on if this is cancelled, which would withdraw a write that waits for others."""
        await asyncio.shield(seam.spawn(self._written(used)))

    async def _written(self, used: Mapping[Unit, int]) -> None:
        """Settle. If the store fails, the answer goes on: the hold then counts as spent."""
        try:
            await self._payer.ledger.settle(self._hold, self._claims, used)
        except SessionError as problem:
            logger.warning("what a model call has cost is not stored, so it counts at its most: %s", problem)

    def _used(self, seconds: float, error: BaseException | None) -> Any:
        held = next((claim.amount for claim in self._claims if claim.unit == "money"), None)
        if not self._received and not self._whole and _did_nothing(error):
            return {"seconds": round(seconds * 1_000)}
        usages = self._whole or ([self._chunk] if self._chunk is not None else [])
        if not usages:
            estimate = Usage(prompt_token_count=self._pricing.estimate, candidates_token_count=self._received)
            return self._pricing.amounts(estimate, seconds, self._version, calls=1, held=held)
        for one in usages:
            self._pricing.learn(one)
        parts = [self._pricing.amounts(one, 0, self._version, calls=0, held=held) for one in usages]
        total = {unit: sum(part[unit] for part in parts) for unit in parts[0]}
        return {**total, "calls": 1, "seconds": round(seconds * 1_000)}


def _did_nothing(error: BaseException | None) -> bool:
    """Whether the service was not reached, or says that it has not worked on the request."""
    if not isinstance(error, Exception) or isinstance(error, TimeoutError):  # the run was left, or cancelled
        return False
    if isinstance(error, NotConnectedError):
        return True
    return not isinstance(error, ModelError) or error.code not in _UNCERTAIN
