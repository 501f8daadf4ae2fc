"""Thinking: how much a model is to think, in OpenAI's terms."""

from __future__ import annotations

from collections.abc import Callable

from newel_kernel import ModelCapabilities
from newel_types import GenerateContentConfig, ThinkingLevel

Say = Callable[[str, str], None]

#: The largest budget in tokens of each effort; a larger one is high.
_BUDGETS = ((2_048, "low"), (8_192, "medium"))


def effort(config: GenerateContentConfig, capable: ModelCapabilities, say: Say) -> str | None:
    """The reasoning effort; None where the request asks for none, or the model has no such setting."""
    thinking = config.thinking_config
    if thinking is None:
        return None
    level, budget = thinking.thinking_level, thinking.thinking_budget
    if "effort" not in capable.thinking:
        if level or budget:
            say("thinking_config", "thinking cannot be configured for this model and is left out")
        return None
    if level is not None and level is not ThinkingLevel.THINKING_LEVEL_UNSPECIFIED:
        return _of_level(level.value.lower(), capable, say)
    if budget is None:
        return None
    if budget == 0:
        return _off(capable, say)
    if budget < 0:
        say("thinking_budget", "a dynamic thinking budget is left to the model's default effort")
        return None
    nearest = next((word for most, word in _BUDGETS if budget <= most), "high")
    say("thinking_budget", "a thinking budget in tokens cannot be said; the nearest reasoning effort goes instead")
    return nearest


def _of_level(word: str, capable: ModelCapabilities, say: Say) -> str:
    nearest = {"minimal": "low", "xhigh": "high"}.get(word, word)
    if word == nearest or word in capable.thinking:
        return word
    say("thinking_level", f"this model has no thinking level {word!r}; {nearest!r} goes instead")
    return nearest


def _off(capable: ModelCapabilities, say: Say) -> str:
    if "off" in capable.thinking:
        return "none"
    if "minimal" not in capable.thinking:
        say("thinking_budget", "thinking cannot be turned off for this model; the least effort goes instead")
        return "low"
    return "minimal"
