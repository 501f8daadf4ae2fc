"""The plugin manager: pluggy finds and orders the implementations of hooks; the host reads them out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from types import ModuleType
from typing import TypeVar

import pluggy
from pydantic import BaseModel

from newel_compose._internal.binding import bind
from newel_compose._internal.descriptors import Describable
from newel_compose._internal.hookspecs import HookPolicy, register_hook_policies, register_kinds, register_settings
from newel_kernel import (
    KERNEL_KINDS,
    LIFECYCLE,
    Bound,
    Callbacks,
    CompositionError,
    Descriptor,
    HookSignatureError,
    Kind,
    PluginError,
    did_you_mean,
    lifecycle_hookspecs,
)

T = TypeVar("T")
_PREFIX = "register_"
#: The attribute by which pluggy marks implementations of a project's hooks.
_MARK = "newel_impl"
#: How alike the name of an unknown hook must be to a known one to be taken for a misspelling of it.
_MISSPELT = 0.8


class _Pluggy(pluggy.PluginManager):
    """pluggy that also takes the methods of a `BasePlugin` for hooks, unmarked as they are."""

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        return None if name.startswith("__") else super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if name.startswith("__") or (isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), _MARK)):
            return None  # pluggy itself examines each name of a module at some cost
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
        #: Hook -> the kind that it provides, and the plugin that declares it.
        self.kinds: dict[str, Kind[Descriptor]] = {}
        self._owners: dict[str, str] = {}
        #: Plugin -> hooks that it implements and nobody declares.
        self.left_out: dict[str, list[str]] = {}
        self._specify(register_settings)
        self._specify(register_kinds)
        self._pluggy.add_hookspecs(lifecycle_hookspecs)
        for kind in KERNEL_KINDS:
            self._declare(kind, "the kernel")
        self._declare(Kind(HookPolicy, register_hook_policies), "the host")

    def _specify(self, specification: Callable[..., object]) -> None:
        self._pluggy.add_hookspecs(type("Specification", (), {specification.__name__: staticmethod(specification)}))

    def _declare(self, kind: Kind[Descriptor], owner: str) -> None:
        other = self._owners.setdefault(kind.hook, owner)
        if other != owner or (kind.hook in self.kinds and self.kinds[kind.hook] != kind):
            raise CompositionError(f"the kind of {kind.hook!r} is declared twice, by {other!r} and by {owner!r}")
        self.kinds[kind.hook] = kind
        self._specify(kind.specification)

    def add(self, name: str, plugin: object) -> None:
        """Register a plugin under its name."""
        self._rank.setdefault(name, len(self._rank))
        try:
            self._pluggy.register(plugin, name=name)
        except pluggy.PluginValidationError as error:
            raise _unfit(name, error) from None
        except ValueError:
            raise CompositionError(f"the plugin {name!r} is given twice") from None

    def declare_kinds(self) -> None:
        """Take up the kinds that the plugins declare, then see that no plugin implements what is no hook."""
        for name, kinds in self.call("register_kinds"):
            for kind in _listed(name, "register_kinds", kinds, Kind):
                if not kind.hook.startswith(_PREFIX):
                    raise CompositionError(
                        f"the plugin {name!r} declares the hook {kind.hook!r}: the name of such a hook starts with "
                        f"{_PREFIX!r}"
                    )
                try:
                    self._declare(kind, name)
                except pluggy.PluginValidationError as error:
                    raise _unfit(str(self._pluggy.get_name(error.plugin)), error) from None
        self._check()

    def _check(self) -> None:
        """Refuse marked functions that are no hook; leave out what fills a kind that no enabled plugin declares."""
        for name, caller in self._callers():
            if caller.has_spec():
                continue
            for impl in caller.get_hookimpls():
                hint = did_you_mean(name, [*self.kinds, *LIFECYCLE])
                if not impl.optionalhook and not (name.startswith(_PREFIX) and not self._misspelt(name)):
                    raise CompositionError(
                        f"the plugin {impl.plugin_name!r} implements {name!r}, which is no hook{hint}"
                    )
                self.left_out.setdefault(impl.plugin_name, []).append(name)
        for names in self.left_out.values():
            names.sort()

    def _misspelt(self, name: str) -> bool:
        rest = name.removeprefix(_PREFIX)
        known = [hook.removeprefix(_PREFIX) for hook in (*self.kinds, "register_settings", "register_kinds")]
        return any(SequenceMatcher(None, rest, one).ratio() >= _MISSPELT for one in known)

    def _callers(self) -> Iterator[tuple[str, pluggy.HookCaller]]:
        for name in self._pluggy.hook.__dict__:
            caller = getattr(self._pluggy.hook, name)
            if isinstance(caller, pluggy.HookCaller):
                yield name, caller

    def implements(self, hook: str) -> bool:
        """Whether a plugin implements `hook`."""
        return bool(getattr(self._pluggy.hook, hook).get_hookimpls())

    def registers(self) -> bool:
        """Whether a plugin has any hook but those of the lifecycle."""
        return any(name not in LIFECYCLE and caller.get_hookimpls() for name, caller in self._callers())

    def hooks_of(self, plugin_name: str) -> tuple[str, ...]:
        """The names of the hooks that a plugin implements, sorted."""
        plugin = self._pluggy.get_plugin(plugin_name)
        callers = self._pluggy.get_hookcallers(plugin) if plugin is not None else None
        return tuple(sorted(caller.name for caller in callers or () if caller.has_spec()))

    def call(self, hook: str, **available: object) -> Iterator[tuple[str, object]]:
        """Call a registration hook, in the order in which the plugins were added; each one's name with its result."""
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        for impl in sorted(impls, key=lambda i: (not i.tryfirst, i.trylast, self._rank[i.plugin_name])):
            try:
                yield impl.plugin_name, impl.function(*(available[name] for name in impl.argnames))
            except PluginError:
                raise
            except Exception as error:
                raise PluginError(f"the plugin {impl.plugin_name!r} failed in {hook}: {error}") from error

    def collect(self, hook: str, settings: Mapping[str, BaseModel]) -> Iterator[tuple[str, Descriptor]]:
        """The descriptors that plugins return from a registration hook, each with its plugin's name."""
        for name, result in self.call(hook, settings=settings):
            kind = self.kinds[hook].descriptor
            for item in _listed(name, hook, _described(result, kind), kind):
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


def _described(result: object, kind: type[Descriptor]) -> object:
    """What a hook returned, with the descriptors of those objects that have one to give."""
    if not isinstance(result, (list, tuple)) or all(isinstance(item, kind) for item in result):
        return result
    return [item.describe(kind) if isinstance(item, Describable) else item for item in result]


def _listed(name: str, hook: str, result: object, kind: type[T]) -> Sequence[T]:
    """What a hook returned, checked to be a list of a kind."""
    if not isinstance(result, (list, tuple)):
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        raise HookSignatureError(
            f"the plugin {name!r}: {hook} returned {type(result).__name__}, not a list of {kind.__name__}"
        )
    for item in result:
        if not isinstance(item, kind):
            raise HookSignatureError(f"the plugin {name!r}: {hook} returned {item!r}, not a {kind.__name__}")
    return result


def _unfit(name: str, error: pluggy.PluginValidationError) -> CompositionError:
    return CompositionError(f"the plugin {name!r} does not fit the hook specifications: {error}")
