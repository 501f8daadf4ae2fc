"""The plugin manager: pluggy finds and orders the implementations of hooks; the host reads them out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pluggy

from newel_kernel.errors import CompositionError, HookSignatureError, PluginError, did_you_mean
from newel_kernel.hooks import LIFECYCLE, Bound, Callbacks, bind
from newel_kernel.hookspecs import REGISTRATION, SPECIFICATIONS


class _Pluggy(pluggy.PluginManager):
    """pluggy that also takes the methods of a `BasePlugin` for hooks, unmarked as they are."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None and name in LIFECYCLE and getattr(type(plugin), "implements_hooks", False):
            method = getattr(type(plugin), name, None)
            if method is not None and not getattr(method, "is_default", False):
                return pluggy.HookimplOpts(
                    wrapper=False, hookwrapper=False, optionalhook=False, tryfirst=False, trylast=False,
                    specname=None,
                )  # fmt: skip
        return options


class Manager:
    """Registers plugin objects and reads their hooks; nothing awaited ever goes through pluggy."""

    def __init__(self) -> None:
        self._pluggy = _Pluggy("newel")
        self._rank: dict[str, int] = {}
        for specifications in SPECIFICATIONS:
            self._pluggy.add_hookspecs(specifications)

    def add(self, name: str, plugin: Any) -> None:
        """Register a plugin under its name."""
        self._rank.setdefault(name, len(self._rank))
        try:
            self._pluggy.register(plugin, name=name)
        except pluggy.PluginValidationError as error:
            raise CompositionError(f"the plugin {name!r} does not fit the hook specifications: {error}") from None
        except ValueError:
            raise CompositionError(f"the plugin {name!r} is given twice") from None

    def check(self) -> None:
        """Refuse marked functions that are no hook: a misspelt name would never be called."""
        for name in self._pluggy.hook.__dict__:
            caller = getattr(self._pluggy.hook, name)
            if isinstance(caller, pluggy.HookCaller) and not caller.has_spec():
                for impl in caller.get_hookimpls():
                    if not impl.optionalhook:
                        known = [*REGISTRATION, *LIFECYCLE]
                        raise CompositionError(
                            f"the plugin {impl.plugin_name!r} implements {name!r}, which is no hook"
                            f"{did_you_mean(name, known)}"
                        )

    def implements(self, hook: str) -> bool:
        """Whether a plugin implements `hook`."""
        return bool(getattr(self._pluggy.hook, hook).get_hookimpls())

    def hooks_of(self, plugin_name: str) -> tuple[str, ...]:
        """The names of the hooks that a plugin implements, sorted."""
        plugin = self._pluggy.get_plugin(plugin_name)
        callers = self._pluggy.get_hookcallers(plugin) if plugin is not None else None
        return tuple(sorted(caller.name for caller in callers or ()))

    def call(self, hook: str, **available: Any) -> Iterator[tuple[str, Any]]:
        """Call a registration hook, in the order in which the plugins were added; each one's name with its result."""
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        for impl in sorted(impls, key=lambda i: (not i.tryfirst, i.trylast, self._rank[i.plugin_name])):
            try:
                yield impl.plugin_name, impl.function(*(available[name] for name in impl.argnames))
            except PluginError:
                raise
            except Exception as error:
                raise PluginError(f"the plugin {impl.plugin_name!r} failed in {hook}: {error}") from error

    def collect(self, hook: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The descriptors that plugins return from a registration hook, each with its plugin's name."""
        kind = REGISTRATION[hook]
        for name, result in self.call(hook, settings=settings):
            if not isinstance(result, (list, tuple)):
                if inspect.iscoroutine(result):
                    result.close()  # nobody will await it
                raise HookSignatureError(
                    f"the plugin {name!r}: {hook} returned {type(result).__name__}, not a list of {kind.__name__}"
                )
            for item in result:
                if not isinstance(item, kind):
                    raise HookSignatureError(f"the plugin {name!r}: {hook} returned {item!r}, not a {kind.__name__}")
                yield name, item

    def lifecycle(self, order: Sequence[str], sources: Mapping[str, str]) -> dict[str, tuple[Callbacks, Callbacks]]:
        """The lifecycle hooks that have implementations, as flat tuples: the usual ones, and the fallbacks."""
        return {hook: self._bound(hook, order, sources) for hook in LIFECYCLE if self.implements(hook)}

    def _bound(self, hook: str, order: Sequence[str], sources: Mapping[str, str]) -> tuple[Callbacks, Callbacks]:
        rank = {name: index for index, name in enumerate(order)}
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        ordered = sorted(impls, key=lambda impl: (not impl.tryfirst, rank[impl.plugin_name]))
        bound = [
            Bound(
                hook,
                bind(impl.function, LIFECYCLE[hook].keywords, hook, f"plugin {impl.plugin_name!r}"),
                f"plugin {impl.plugin_name!r} ({sources[impl.plugin_name]})",
                plugin=True,
                last=impl.trylast,
            )
            for impl in ordered
        ]
        return tuple(b for b in bound if not b.last), tuple(b for b in bound if b.last)
