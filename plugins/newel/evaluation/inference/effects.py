"""Effects: tools that change something do not run in an evaluation unless the caller allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newel.evaluation.cases.eval_case import EvalCase, get_all_tool_calls_with_responses
from newel_kernel import BaseTool, Effect, LlmRequest, LlmResponse


class EffectGate:
    """Decides which tools of an agent may run in a case. Model calls pass."""

    def __init__(self, case: EvalCase, allow_effects: bool) -> None:
        self._allow_effects = allow_effects
        self._recorded = [
            pair
            for turn in case.conversation or ()
            for pair in get_all_tool_calls_with_responses(turn.intermediate_data)
        ]

    async def before_model(self, key: str, request: LlmRequest) -> LlmResponse | None:
        """Let the call through."""
        return None

    async def after_model(self, key: str, response: LlmResponse) -> None:
        """Do nothing."""

    async def model_failed(self, key: str, request: LlmRequest, error: Exception) -> LlmResponse | None:
        """Leave the failure to the agent."""
        return None

    def before_tool(self, tool: BaseTool, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """The recorded result of a tool that declares effects and may not run; None if it may."""
        if self._allow_effects or not declares_effects(tool):
            return None
        for number, (call, response) in enumerate(self._recorded):
            if call.name == tool.name and (call.args or {}) == dict(args) and response is not None:
                del self._recorded[number]
                return dict(response.response or {})
        return {
            "error": f"the tool {tool.name!r} declares the effect {tool.effect!s} and does not run in an "
            f"evaluation; allow it (--allow-effects, eval_allow_effects in pytest, allow_effects in code), or record "
            f"its response in the case"
        }


def declares_effects(tool: BaseTool) -> bool:
    """Whether the tool's author declared that a call changes something; the default of all tools declares nothing."""
    declares = "effect" in vars(tool) or any("effect" in vars(cls) for cls in type(tool).__mro__ if cls is not BaseTool)
    return declares and tool.effect != Effect.PURE
