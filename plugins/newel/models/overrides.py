"""Overrides: what a distribution says of its models that newel's table does not know, or knows otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, field_validator

import newel_kernel
from newel_kernel import did_you_mean

if TYPE_CHECKING:
    from newel_kernel import BaseLlm


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of models."""

    #: An address or a model's name, or a pattern that one of both matches wholly -> fields of ModelCapabilities.
    capabilities: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("capabilities")
    @classmethod
    def _known(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        known = [field.name for field in fields(newel_kernel.ModelCapabilities)]
        for pattern, changes in given.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no pattern: {error}") from error
            for name in changes.keys() - set(known):
                raise ValueError(f"{pattern!r}: a model has no capability {name!r}{did_you_mean(name, known)}")
        return given


def with_overrides(model: BaseLlm, address: str, settings: Settings) -> BaseLlm:
    """`model` with what the settings say of it; those that stand later win, and they win over the provider's own."""
    given = getattr(model, "capability_overrides", None)
    if not settings.capabilities or not isinstance(given, Mapping):
        return model
    changes = dict(given)
    for pattern, more in settings.capabilities.items():
        if any(re.fullmatch(pattern, name) for name in (address, model.model)):
            changes |= more
    return model if changes == given else model.model_copy(update={"capability_overrides": changes})
