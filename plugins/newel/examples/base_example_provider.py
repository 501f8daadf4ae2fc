"""The contract of a provider of examples."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel.examples.example import Example


class BaseExampleProvider(ABC):
    """Finds the examples that fit a question."""

    @abstractmethod
    def get_examples(self, query: str) -> list[Example]:
        """The examples for `query`, the user's text."""
