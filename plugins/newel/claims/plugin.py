"""The plugin of claims: its settings. `newel.contexts.base_runner` takes a claim for each run."""

from __future__ import annotations

from pydantic import BaseModel

from newel.claims.settings import Settings
from newel_kernel import hookimpl


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings
