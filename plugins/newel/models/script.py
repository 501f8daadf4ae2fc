"""The plugin of ``script:FILE``, a model that follows the steps of a YAML or JSON file."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel_kernel import BaseLlm


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
