"""BuiltInPlanner: the model thinks for itself; only its thinking is configured.

Specified in docs/reference/behaviour.md#planning.
"""

from __future__ import annotations

from newel.planners.base_planner import BasePlanner
from newel_kernel import Context, LlmRequest, ReadonlyContext
from newel_types import Part, ThinkingConfig, as_plain


class BuiltInPlanner(BasePlanner):
    """Sets `thinking_config` (a ThinkingConfig or a dict of its fields) on each request.

    It replaces the one in the agent's generate_content_config.
    """

    def __init__(self, *, thinking_config: object) -> None:
        self.thinking_config: ThinkingConfig = ThinkingConfig.model_validate(as_plain(thinking_config))

    def apply_thinking_config(self, llm_request: LlmRequest) -> None:
        """Configure the thinking of one model call."""
        llm_request.config.thinking_config = self.thinking_config.model_copy()

    def build_planning_instruction(self, readonly_context: ReadonlyContext, llm_request: LlmRequest) -> str | None:
        """None: the model needs no instruction."""
        return None

    def process_planning_response(self, callback_context: Context, response_parts: list[Part]) -> list[Part] | None:
        """None: the model marks its thoughts itself."""
        return None
