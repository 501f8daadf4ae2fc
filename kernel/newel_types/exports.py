"""Lazy exports: a package's public names, each imported from its module when first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from newel_types.deprecation import deprecated_names, warn_deprecated


def deferred(module: str, name: str) -> Callable[[], Any]:
    """A function that imports `module` when it is first called, and returns its `name`.

    Use it only for a module that most runs do not need. Both arguments must be literals: the tests read them, and hold
    deferred imports to the same layers and rings as those at the top of a module.
    """

    def load() -> Any:
        return getattr(import_module(module), name)

    return load


def lazy_exports(
    package: str, where: Mapping[str, str], deprecated: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `package`; `where` maps a public name to the module that defines it.

    ``module:attribute`` if the module has another name for it, ``module:`` if the name means the module itself.
    `deprecated` maps names to what a warning says of them: since when, until when, and what to use instead.
    """
    deprecated_names.update((f"{package}.{name}", remedy) for name, remedy in (deprecated or {}).items())

    def get(name: str) -> object:
        place = where.get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, colon, attribute = place.partition(":")
        value: Any = import_module(module)
        if attribute or not colon:
            value = getattr(value, attribute or name)
        if deprecated is not None and name in deprecated:  # not kept, so that each of its users is warned
            warn_deprecated(f"{package}.{name}", deprecated[name])
            return value
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(where)

    return get, names
