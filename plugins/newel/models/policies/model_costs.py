"""model_costs: what a call cost, by the prices of genai-prices, next to its token counts."""

from __future__ import annotations

import logging
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from typing import Any

from newel.contexts.usages import COST, noted_cost
from newel.models.kinds import Attempt, ModelPolicy
from newel_kernel import LlmResponse, hookimpl
from newel_types import GenerateContentResponseUsageMetadata

logger = logging.getLogger(__name__)

#: newel's providers -> those of genai-prices, if the names differ.
_PROVIDERS = {"gemini": "google", "openai-responses": "openai"}


def cost_of(provider: str, model: str, usage: GenerateContentResponseUsageMetadata) -> Decimal | None:
    """US dollars; None if no price is known. Cached and written tokens have prices of their own."""
    prices = _prices()
    if prices is None:
        return None
    written_tokens = (usage.model_extra or {}).get("cache_write_token_count")
    counts = prices.Usage(
        input_tokens=usage.prompt_token_count,
        cache_read_tokens=usage.cached_content_token_count,
        cache_write_tokens=written_tokens,
        output_tokens=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
    )
    try:
        total: Decimal = prices.calc_price(
            counts, model, provider_id=_PROVIDERS.get(provider, provider) or None
        ).total_price
    except (LookupError, ValueError):  # a model of the user's own, or counts that do not fit together
        return None
    return total


def price_of(provider: str, model: str) -> str | None:
    """The price of a model in words: ``$3/input MTok, $15/output MTok``; None if it is not known."""
    prices = _prices()
    if prices is None:
        return None
    usage = prices.Usage(input_tokens=0, output_tokens=0)
    try:
        calculation = prices.calc_price(usage, model, provider_id=_PROVIDERS.get(provider, provider))
    except (LookupError, ValueError):
        return None
    return str(calculation.model_price)


def token_price(provider: str, model: str, *, cached: bool = False) -> float | None:
    """US dollars for a token of input in a small request, or for one that is read from the cache; None: not known."""
    count = 1_000
    usage = GenerateContentResponseUsageMetadata(
        prompt_token_count=count, cached_content_token_count=count if cached else 0
    )
    costs = (cost_of(name, model, usage) for name in dict.fromkeys((provider, "")))
    cost = next((one for one in costs if one is not None), None)
    return float(cost) / count if cost is not None else None


@lru_cache(maxsize=512)
def window_of(provider: str, model: str) -> int | None:
    """How many tokens the context window of a model holds, by genai-prices; None if that is not known."""
    prices = _prices()
    if prices is None:
        return None
    for provider_id in dict.fromkeys((_PROVIDERS.get(provider, provider) or None, None)):
        with suppress(LookupError, ValueError):  # another provider may serve the model, under its own name
            window: int | None = prices.calc_price(prices.Usage(), model, provider_id=provider_id).model.context_window
            return window
    return None


@lru_cache(maxsize=1)
def _prices() -> Any:
    try:
        return import_module("genai_prices")
    except ImportError:
        return None


def priced(attempt: Attempt, response: LlmResponse) -> LlmResponse:
    """A whole response with its cost; what the service itself says of it is not replaced."""
    usage = response.usage_metadata
    if usage is not None and noted_cost(usage) is None:
        name = response.model_version or attempt.request.model or attempt.model.model
        cost = cost_of(getattr(attempt.model, "provider", ""), name, usage)
        if cost is not None:
            response.usage_metadata = usage.model_copy(update={COST: float(cost)})
    return response


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `model_costs`."""
    return [ModelPolicy(name="model_costs", response=priced)]
