"""Overrides: capabilities that a distribution sets for its models, beyond or against newel's table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, field_validator

from newel import models
from newel_kernel import did_you_mean

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of models."""

    #: An address or a model's name, or a pattern that matches either in full -> fields of ModelCapabilities.
    capabilities: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("capabilities")
    @classmethod
    def _check_names(cls, capabilities: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        names = [field.name for field in fields(models.ModelCapabilities)]
        for pattern, changes in capabilities.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a pattern: {error}") from error
            for name in changes.keys() - set(names):
                raise ValueError(f"{pattern!r}: a model has no capability {name!r}{did_you_mean(name, names)}")
        return capabilities


def with_overrides(model: BaseLlm, address: str, settings: Settings) -> BaseLlm:
    """`model` with its capabilities in the settings; later entries win, and they win over the provider's own."""
    own = getattr(model, "capability_overrides", None)
    if not settings.capabilities or not isinstance(own, Mapping):
        return model
    changes = dict(own)
    for pattern, more in settings.capabilities.items():
        if any(re.fullmatch(pattern, name) for name in (address, model.model)):
            changes |= more
    return model if changes == own else model.model_copy(update={"capability_overrides": changes})
