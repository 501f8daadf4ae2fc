"""Runners: `Runner`, and `InMemoryRunner` for tests and first steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.runners.in_memory_runner import InMemoryRunner as InMemoryRunner
    from newel.runners.runner import Runner as Runner
    from newel.runners.services import open_services as open_services
    from newel.runners.transcript import print_event as print_event

_WHERE = {
    "InMemoryRunner": "newel.runners.in_memory_runner",
    "Runner": "newel.runners.runner",
    "open_services": "newel.runners.services",
    "print_event": "newel.runners.transcript",
}
__all__ = ["InMemoryRunner", "Runner"]

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
