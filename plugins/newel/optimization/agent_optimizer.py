"""AgentOptimizer: makes a better agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from newel.optimization.data_types import AgentWithScores, OptimizerResult, SamplingResult
from newel.optimization.sampler import Sampler
from newel_kernel import BaseAgent

R = TypeVar("R", bound=SamplingResult)
A = TypeVar("A", bound=AgentWithScores)


class AgentOptimizer(ABC, Generic[R, A]):
    """Looks for a better agent with the scores of a sampler."""

    @abstractmethod
    async def optimize(self, initial_agent: BaseAgent, sampler: Sampler[R]) -> OptimizerResult[A]:
        """The candidates, the best first."""
