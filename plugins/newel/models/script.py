"""The plugin of ``script:FILE``, a model that follows the steps of a YAML or JSON file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_create = deferred("newel.models.script_file", "create")


def create(address: str) -> BaseLlm:
    """The model that follows a file."""
    model: BaseLlm = _create()(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`script:FILE`."""
    return [
        ModelProvider(name="script", create=create, description="Follows the steps of a YAML or JSON file (offline).")
    ]
