"""LLMRegistry: model classes registered in code, by their name patterns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from newel_kernel import ModelError

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

__all__ = ["LLMRegistry"]


class LLMRegistry:
    """Classes by the patterns of `supported_models`; the last class registered for a name serves it.

    A process-wide registry, as in the released API. A package provides models with `register_model_providers`.
    """

    _classes: dict[str, type[BaseLlm]] = {}  # noqa: RUF012 - one for the process

    @classmethod
    def register(cls, llm_cls: type[BaseLlm]) -> None:
        """Let a class serve the names that it supports."""
        for pattern in llm_cls.supported_models():
            cls._classes.pop(pattern, None)
            cls._classes[pattern] = llm_cls

    @classmethod
    def find(cls, model: str) -> type[BaseLlm] | None:
        """The class that was registered for a name, or None."""
        for pattern, llm_cls in reversed(cls._classes.items()):
            if re.fullmatch(pattern, model):
                return llm_cls
        return None

    @classmethod
    def resolve(cls, model: str) -> type[BaseLlm]:
        """The class that was registered for a name; raises ModelError if there is none."""
        match = cls.find(model)
        if match is None:
            raise ModelError(f"no class is registered for the model {model!r}; register one with LLMRegistry.register")
        return match

    @classmethod
    def new_llm(cls, model: str) -> BaseLlm:
        """A new model of that name."""
        return cls.resolve(model)(model=model)
