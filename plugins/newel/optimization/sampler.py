"""Sampler: scores candidates on examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Literal, TypeVar

from newel.optimization.data_types import SamplingResult
from newel_kernel import BaseAgent

R = TypeVar("R", bound=SamplingResult)
ExampleSet = Literal["train", "validation"]


class Sampler(ABC, Generic[R]):
    """Has training and validation examples, and scores an agent on them."""

    @abstractmethod
    def get_train_example_ids(self) -> list[str]:
        """The ids of the training examples."""

    @abstractmethod
    def get_validation_example_ids(self) -> list[str]:
        """The ids of the validation examples."""

    @abstractmethod
    async def sample_and_score(
        self,
        candidate: BaseAgent,
        example_set: ExampleSet = "validation",
        batch: list[str] | None = None,
        capture_full_eval_data: bool = False,
    ) -> R:
        """The scores of `candidate` on the examples of `batch`, or of the whole set."""
