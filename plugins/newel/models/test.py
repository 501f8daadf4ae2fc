"""The plugin of ``test:``, a model that calls every tool once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_create = deferred("newel.models.test_model", "create")


def create(address: str) -> BaseLlm:
    """The tool-calling test model."""
    model: BaseLlm = _create()(address)
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
