"""The plugin of ``script:FILE``, a model that follows the steps of a YAML or JSON file."""

from __future__ import annotations

from importlib import import_module

from newel_kernel import BaseLlm, hookimpl
from newel.models.kinds import ModelProvider


def create(address: str) -> BaseLlm:
    """The model that follows a file."""
    model: BaseLlm = import_module("newel.models.script_file").create(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`script:FILE`."""
    return [
        ModelProvider(name="script", create=create, description="Follows the steps of a YAML or JSON file (offline).")
    ]
