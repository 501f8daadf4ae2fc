"""The contract of a planner: it tells the model how to plan and reads the plan out of its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel_kernel import Context, LlmRequest, ReadonlyContext
    from newel_types import Part


class BasePlanner(ABC):
    """Builds a planning instruction and post-processes the model's parts."""

    @abstractmethod
    def build_planning_instruction(self, readonly_context: ReadonlyContext, llm_request: LlmRequest) -> str | None:
        """The instruction to append, or None."""

    @abstractmethod
    def process_planning_response(self, callback_context: Context, response_parts: list[Part]) -> list[Part] | None:
        """The parts to keep instead of the response's, or None to keep these unchanged."""
