"""The door to the host for the runner: pluggy, stevedore and yaml load when something is composed, not before."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from logging import getLogger
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newel_kernel.composition import Composition
    from newel_kernel.contracts.agent import BaseAgent

_log = getLogger(__name__)


def compose_once(distribution: str | None = None) -> Composition:
    """See `host.compose_once`."""
    return import_module("newel_kernel.host").compose_once(distribution)  # type: ignore[no-any-return]


def displayed(agent: BaseAgent, include: Any, exclude: Any) -> dict[str, Any]:
    """The agent as the plugins' displays show it, by MIME type; where none gives a text, its name is one.

    Where two give the same type, the first counts.
    """
    forms: dict[str, Any] = {}
    try:
        for display in compose_once().all("Display"):
            forms = {**display.create(agent, include=include, exclude=exclude), **forms}
    except Exception:  # noqa: BLE001 - a plugin boundary: the cell has run; how its value looks must not make it fail
        _log.warning("the agent %r cannot be displayed", agent.name, exc_info=True)
    return {"text/plain": f"{type(agent).__name__} {agent.name}", **forms}


def extend(composition: Composition, plugins: Sequence[Any]) -> Composition:
    """See `host.extend`."""
    if not plugins:
        return composition
    return import_module("newel_kernel.host").extend(composition, plugins)  # type: ignore[no-any-return]
