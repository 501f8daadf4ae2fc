"""The plugin of ``echo:``, a model that answers with its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_create = deferred("newel.models.echo_model", "create")


def create(address: str) -> BaseLlm:
    """The echo model."""
    model: BaseLlm = _create()(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`echo:`."""
    return [ModelProvider(name="echo", create=create, description="Answers with the request as JSON (offline).")]
