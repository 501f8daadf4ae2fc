"""Thinking: how much a model is to think, in OpenAI's terms."""

from __future__ import annotations

from collections.abc import Callable

from newel.models.contract import ModelCapabilities
from newel_types import GenerateContentConfig, ThinkingLevel

Report = Callable[[str, str], None]

#: The largest budget in tokens of each effort; a larger one is high.
_BUDGETS = ((2_048, "low"), (8_192, "medium"))


def effort(config: GenerateContentConfig, capable: ModelCapabilities, report: Report) -> str | None:
    """The reasoning effort; None if the request asks for none, or the model has no such setting."""
    thinking = config.thinking_config
    if thinking is None:
        return None
    level, budget = thinking.thinking_level, thinking.thinking_budget
    if "effort" not in capable.thinking:
        if level or budget:
            report("thinking_config", "thinking cannot be configured for this model and is left out")
        return None
    if level is not None and level is not ThinkingLevel.THINKING_LEVEL_UNSPECIFIED:
        return _of_level(level.value.lower(), capable, report)
    if budget is None:
        return None
    if budget == 0:
        return _off(capable, report)
    if budget < 0:
        report("thinking_budget", "a dynamic thinking budget is left to the model's default effort")
        return None
    nearest = next((word for most, word in _BUDGETS if budget <= most), "high")
    report("thinking_budget", "thinking budgets in tokens cannot be sent; the nearest reasoning effort is sent instead")
    return nearest


def _of_level(word: str, capable: ModelCapabilities, report: Report) -> str:
    nearest = {"minimal": "low", "xhigh": "high"}.get(word, word)
    if word == nearest or word in capable.thinking:
        return word
    report("thinking_level", f"this model has no thinking level {word!r}; {nearest!r} is sent instead")
    return nearest


def _off(capable: ModelCapabilities, report: Report) -> str:
    if "off" in capable.thinking:
        return "none"
    if "minimal" not in capable.thinking:
        report("thinking_budget", "thinking cannot be turned off for this model; the least effort is sent instead")
        return "low"
    return "minimal"
