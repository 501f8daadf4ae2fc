"""Apps: an agent with its plugins and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.apps.app import App as App
    from mortise.apps.app import ResumabilityConfig as ResumabilityConfig

_WHERE = {
    "App": "mortise.apps.app",
    "ResumabilityConfig": "mortise.apps.app",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
