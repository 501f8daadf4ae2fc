"""The plugin of ``test:``, a model that calls every tool once."""

from __future__ import annotations

from importlib import import_module

from newel_kernel import BaseLlm, hookimpl
from newel.models.kinds import ModelProvider


def create(address: str) -> BaseLlm:
    """The tool-calling test model."""
    model: BaseLlm = import_module("newel.models.test_model").create(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`test:` and `test:parallel`."""
    return [
        ModelProvider(
            name="test",
            create=create,
            description="Calls each tool once, one after the other or all at once (test:parallel), offline.",
        )
    ]
