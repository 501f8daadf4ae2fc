"""Thinking: how much the model thinks, in the terms that it knows."""

from __future__ import annotations

from dataclasses import dataclass

from newel.models.anthropic.blocks import THINKING
from newel.models.anthropic.media import Report
from newel.models.contract import ModelCapabilities
from newel_kernel import Json
from newel_types import GenerateContentConfig

#: The least budget that the service takes.
_LEAST = 1024
_DEFAULT_BUDGET = 8192
_BUDGETS = {"MINIMAL": _LEAST, "LOW": 2048, "MEDIUM": _DEFAULT_BUDGET, "HIGH": 16384, "XHIGH": 22528}
_EFFORTS = {"MINIMAL": "low", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"}
#: How many tokens an adaptive model may think if the request sets no maximum.
_ADAPTIVE_ROOM = 16384


@dataclass(frozen=True, slots=True)
class Thinking:
    """The request's `thinking`, its effort, and how many of the answer's tokens it takes."""

    config: Json | None = None
    effort: str | None = None
    room: int = 0

    @property
    def on(self) -> bool:
        """Whether the model thinks."""
        return self.config is not None and self.config["type"] != "disabled"


OFF = Thinking()


def thinking_of(config: GenerateContentConfig, capable: ModelCapabilities, report: Report) -> Thinking:
    """What the request says about thinking."""
    thinking = config.thinking_config
    if thinking is None:
        return OFF
    words = capable.thinking
    level = str(getattr(thinking.thinking_level, "value", thinking.thinking_level) or "")
    budget = thinking.thinking_budget
    if budget is None and level not in _EFFORTS and not thinking.include_thoughts:
        return OFF
    if not words:
        report("thinking_config", "the model does not think; thinking_config is left out")
        return OFF
    if budget == 0:
        return _off(words, report)
    display: Json = {"display": "summarized"} if thinking.include_thoughts and "display" in words else {}
    if level in _EFFORTS and "effort" in words:
        return _by_effort(level, words, display, report)
    if "budget" in words and (budget is None or budget > 0 or "adaptive" not in words):
        tokens = _BUDGETS.get(level, _DEFAULT_BUDGET) if budget is None or budget < 0 else max(budget, _LEAST)
        if budget is None and not level and "adaptive" in words:
            return Thinking({"type": "adaptive", **display}, None, _ADAPTIVE_ROOM)
        return Thinking({"type": "enabled", "budget_tokens": tokens, **display}, None, tokens)
    if budget is not None and budget > 0:
        report("thinking_budget", "the model decides itself how much it thinks; thinking_budget became an effort")
        return Thinking({"type": "adaptive", **display}, _effort_of(budget), _ADAPTIVE_ROOM)
    return Thinking({"type": "adaptive", **display}, None, _ADAPTIVE_ROOM)


def _by_effort(level: str, words: frozenset[str], display: Json, report: Report) -> Thinking:
    effort = _EFFORTS[level]
    if effort == "xhigh" and "xhigh" not in words:
        report("thinking_level", "the model's highest effort is high; XHIGH became high")
        effort = "high"
    if level == "MINIMAL":
        report("thinking_level", "the model's lowest effort is low; MINIMAL became low")
    if "adaptive" in words:
        return Thinking({"type": "adaptive", **display}, effort, _ADAPTIVE_ROOM)
    budget = _BUDGETS[level]
    return Thinking({"type": "enabled", "budget_tokens": budget, **display}, effort, budget)


def _off(words: frozenset[str], report: Report) -> Thinking:
    if "off" in words:
        return Thinking({"type": "disabled"})
    report("thinking_budget", "thinking cannot be turned off for this model; it thinks as little as it can")
    return Thinking({"type": "adaptive"}, "low" if "effort" in words else None)


def _effort_of(budget: int) -> str:
    return "low" if budget <= 4096 else "medium" if budget <= 16384 else "high"


def for_history(thinking: Thinking, messages: list[Json], report: Report) -> Thinking:
    """`thinking`, or OFF in a step that began without thinking: the service refuses to start thinking there."""
    if thinking.config is None or thinking.config["type"] != "enabled" or len(messages) < 2:
        return thinking
    waits = any(block["type"] == "tool_result" for block in messages[-1]["content"])
    if not waits or messages[-2]["content"][0]["type"] in THINKING:
        return thinking
    report("thinking in a step", "the step began without this model's thinking; it ends without thinking, too")
    return OFF
