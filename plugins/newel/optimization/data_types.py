"""What samplers and optimisers exchange."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from newel_kernel import BaseAgent


class SamplingResult(BaseModel):
    """The scores of a candidate by example."""

    scores: dict[str, float]


class UnstructuredSamplingResult(SamplingResult):
    """The scores, with what happened in each example as JSON data."""

    data: dict[str, dict[str, Any]] | None = None


class AgentWithScores(BaseModel):
    """A candidate with its score on the validation examples."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    optimized_agent: BaseAgent
    overall_score: float | None = None


A = TypeVar("A", bound=AgentWithScores)


class OptimizerResult(BaseModel, Generic[A]):
    """The candidates that an optimiser ended with, the best first."""

    optimized_agents: list[A] = Field(default_factory=list)
