"""Hookless objects: what was handed in as a plugin and would do nothing, or less than its author thinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from types import ModuleType

from newel_compose._internal.faults import Fault
from newel_kernel import LIFECYCLE

#: How alike a method's name must be to a hook's to be taken for a misspelling of it.
_MISSPELT = 0.93


def hookless(plugins: Iterable[tuple[str, object]], hooks_of: Callable[[object], object]) -> Iterator[Fault]:
    """The faults of plugin objects without a hook, and of methods that are almost named as a hook is."""
    for name, plugin in plugins:
        own = getattr(type(plugin), "__newel_implements_hooks__", False)
        if own:
            for method in dir(type(plugin)):
                close = get_close_matches(method, LIFECYCLE, 1, _MISSPELT) if method not in LIFECYCLE else []
                if close and not method.startswith("_"):
                    why = (
                        f"has a method {method!r}, which is not a hook and is never called; did you mean {close[0]!r}?"
                    )
                    yield Fault(f"the plugin {name!r} {why}", name, why=f"it {why}")
        elif not isinstance(plugin, ModuleType) and not hooks_of(plugin):
            why = (
                f"({type(plugin).__module__}.{type(plugin).__qualname__}) has no hook that would run; "
                "let its class be a subclass of newel.plugins.BasePlugin, or mark its hooks with @hookimpl"
            )
            yield Fault(f"the plugin {name!r} {why}", name, why=f"it {why}")
