"""The plugin of ``demo:``, the offline model that is used if no provider has a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_create = deferred("newel.models.demo.model", "create")


def create(address: str) -> BaseLlm:
    """The demo model."""
    model: BaseLlm = _create()(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`demo:`."""
    return [
        ModelProvider(
            name="demo",
            create=create,
            default=lambda: "demo:",
            fallback=True,
            description="Picks tools by their words and fills in their arguments (offline, no key needed).",
        )
    ]
