"""Prices: what a call of a model may cost at most, and what it did cost, in the units of accounts."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from newel.budgets.estimates import Experience, most_of_media
from newel.budgets.settings import ModelPrice, Settings
from newel.contexts.limits import SCALE, Unit
from newel.contexts.usages import noted_cost
from newel.models.capabilities import fact_of
from newel.models.policies.model_costs import cost_of
from newel.models.token_estimates import tokens_of_content, tokens_of_text
from newel_kernel import ConfigurationError, LlmRequest
from newel_types import GenerateContentResponseUsageMetadata as Usage
from newel_types import as_plain

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

logger = logging.getLogger(__name__)

_MILLION = 1_000_000
#: What a usage raises whose numbers make no price.
_ODD = (ConfigurationError, ValueError, OverflowError)
#: The families of models whose facts are known, by newel's names of providers.
_FAMILIES = ("anthropic", "gemini", "openai")


class Pricing:
    """The prices of one call: a request to a model."""

    def __init__(
        self, settings: Settings, model: BaseLlm, request: LlmRequest, experience: Experience | None = None
    ) -> None:
        self.name = request.model or model.model
        self.provider = getattr(model, "provider", "")
        self._model = model
        self._settings = settings
        self._own = settings.prices.get(self.name) or settings.prices.get(f"{self.provider}:{self.name}")
        self.estimate = tokens_of_request(request, model.provider_name)
        self._experience = experience or Experience()
        window = _fact(self.name, "context_tokens")
        media = most_of_media(request, model.provider_name, self.name)
        self._has_text_alone = media == 0
        read = None if media is None else self._experience.most_of(self.estimate) + media
        self._most_read = window or settings.window if read is None else min(read, window or read)
        most_output = _most_output(model, request, self.name) or window or settings.window
        self._most_written = max(most_output, self._experience.written) * (request.config.candidate_count or 1)

    def most(self, unit: Unit, seconds: float) -> int:
        """The most that the call may take of a unit; `seconds` is how long it may last. In the store's unit."""
        if unit == "calls":
            return 1
        if unit == "seconds":
            return round(seconds * SCALE["seconds"])
        read, written = self._most_read, self._most_written
        if unit == "tokens":
            return read + written
        usage = Usage(prompt_token_count=read, candidates_token_count=written)
        return max(self.money(usage), self.money(usage.model_copy(update={"cache_write_token_count": read})))

    def learn(self, usage: Usage) -> None:
        """Remember what a report says beyond the estimate."""
        if self._has_text_alone:
            self._experience.learn_text(self.estimate, _input_tokens(usage))
        self._experience.learn_answer(_output_tokens(usage))

    def money(self, usage: Usage, version: str | None = None) -> int:
        """Nanodollars. A ConfigurationError if a model that is not free has no known price."""
        if (noted := noted_cost(usage)) is not None:
            return round(noted * SCALE["money"])
        if self._own is not None:
            return round(_cost(self._own, usage) * SCALE["money"])
        for provider, name in ((self.provider, version), (self.provider, self.name), ("", self.name)):
            if name and (cost := cost_of(provider, name, usage)) is not None:
                return round(float(cost) * SCALE["money"])
        if not self._model.networked:
            return 0
        raise ConfigurationError(
            f"a budget of money cannot count {self.name!r}, whose price is not known: name it in the settings of "
            f"budgets, as prices: {{{self.name}: {{input: 3, output: 15}}}} (dollars for a million tokens; 0 if it is "
            f"free), or install genai-prices"
        )

    def _money_of(self, usage: Usage, version: str | None, held: int) -> int:
        """Nanodollars of an answer, which no odd report of a service may turn into an error."""
        with suppress(*_ODD):
            return self.money(usage, version)
        plain = Usage(prompt_token_count=usage.prompt_token_count, candidates_token_count=_output_tokens(usage))
        with suppress(*_ODD):
            cost = self.money(plain, version)
            logger.warning("%r reports a usage that does not fit together: it is counted without the cache", self.name)
            return cost
        logger.warning("%r reports a usage that has no price: the call counts at its most", self.name)
        return held

    def amounts(
        self, usage: Usage, seconds: float, version: str | None, *, calls: int, held: int | None
    ) -> dict[Unit, int]:
        """What a call took, in the store's units; `held` is the most that it may cost, None if no limit is of money."""
        return {
            "money": 0 if held is None else self._money_of(usage, version, held),
            "tokens": _input_tokens(usage) + _output_tokens(usage),
            "calls": calls,
            "seconds": round(seconds * SCALE["seconds"]),
        }


def tokens_of_request(request: LlmRequest, provider: str) -> int:
    """About how many tokens a request has: its messages, its instruction, and the declarations of its tools."""
    config = request.config
    tokens = sum(tokens_of_content(content, provider) for content in request.contents)
    if (instruction := config.system_instruction) is not None:
        text = instruction if isinstance(instruction, str) else json.dumps(as_plain(instruction), default=str)
        tokens += tokens_of_text(text, provider)
    if config.tools:
        tokens += tokens_of_text(json.dumps(as_plain(config.tools), default=str), provider)
    return tokens


def _input_tokens(usage: Usage) -> int:
    """What was read, also the results of tools that the service ran."""
    return (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)


def _output_tokens(usage: Usage) -> int:
    return (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)


def _cost(price: ModelPrice, usage: Usage) -> float:
    """US dollars."""
    cached = usage.cached_content_token_count or 0
    fresh = max(0, _input_tokens(usage) - cached)
    read = fresh * price.input + cached * (price.input if price.cached is None else price.cached)
    return (read + _output_tokens(usage) * price.output) / _MILLION


def _most_output(model: BaseLlm, request: LlmRequest, name: str) -> int | None:
    """How many tokens the answer may have: as the request, the model or the catalogue says; None: not known."""
    known = request.config.max_output_tokens or getattr(model, "max_tokens", None) or _fact(name, "output_tokens")
    return known if isinstance(known, int) else None


def _fact(name: str, fact: str) -> int | None:
    facts = (fact_of(family, name, fact) for family in _FAMILIES)
    return next((one for one in facts if isinstance(one, int)), None)
