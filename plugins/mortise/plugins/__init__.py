"""Plugins with lifecycle hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.plugins.base_plugin import BasePlugin as BasePlugin

_WHERE = {
    "BasePlugin": "mortise.plugins.base_plugin",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
