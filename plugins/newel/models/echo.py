"""The plugin of ``echo:``, a model that answers with its request."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel_kernel import BaseLlm


def create(address: str) -> BaseLlm:
    """The echo model."""
    model: BaseLlm = import_module("newel.models.echo_model").create(address)
    return model


@hookimpl
def register_model_providers() -> list[ModelProvider]:
    """`echo:`."""
    return [ModelProvider(name="echo", create=create, description="Answers with the request as JSON (offline).")]
