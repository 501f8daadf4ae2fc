"""The door to the host for the runner: pluggy, stevedore and yaml load when something is composed, not before."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mortise_kernel.composition import Composition


def compose_once(distribution: str | None = None) -> Composition:
    """See `host.compose_once`."""
    return import_module("mortise_kernel.host").compose_once(distribution)  # type: ignore[no-any-return]


def extend(composition: Composition, plugins: Sequence[Any]) -> Composition:
    """See `host.extend`."""
    if not plugins:
        return composition
    return import_module("mortise_kernel.host").extend(composition, plugins)  # type: ignore[no-any-return]
