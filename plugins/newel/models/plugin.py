"""The plugin of the kind that makes models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from newel.models import kinds
from newel.models.overrides import Settings
from newel_kernel import Kind, hookimpl


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The providers of models, and the policies around them."""
    return [
        Kind(kinds.ModelProvider, kinds.register_model_providers, order="model_providers", open_ended=True),
        Kind(kinds.ModelPolicy, kinds.register_model_call_policies, order="model_chain"),
    ]
