"""The host: composes the plugins of a distribution into one frozen `Composition`, which the kernel runs.

It finds plugins by their entry points, orders chains by the distribution's spine and the plugins' anchors, validates
settings, and checks a composition against its lock. `__all__` lists all public names.
"""

from __future__ import annotations

from newel_types import lazy_exports

_NAMES = {
    "binding": "as_callbacks bind",
    "composer": "compose compose_once extend",
    "composition": "Composition PluginRecord",
    "descriptors": "Backend Factory Guard Loader",
    "discovery": "PLUGIN_GROUP import_seconds installed_points load",
    "distribution": "Distribution describe",
    "faults": "defined_at describe_error frames_of place_of",
    "hookspecs": "HookPolicy StagePolicy",
    "lock": "LOCK_FILE lock_changes lock_of write_lock",
    "ordering": "Owned Placed",
    "registry": "PluginRegistry",
    "restaging": "restaged",
    "selection": "select_distribution",
    "setting_sources": "give_setting setting_source",
    "strict_yaml": "MAX_BYTES line_of load_yaml read_text",
    "uris": "sqlite_path without_password",
}
_PLACES = {name: f"{__name__}._internal.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_PLACES)
#: Errors are told with a line of the code that newel calls, not with one of this package.
__tracebackhide__ = True

__getattr__, __dir__ = lazy_exports(__name__, _PLACES)
