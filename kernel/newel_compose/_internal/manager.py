"""The plugin manager: pluggy finds and orders the implementations of hooks; the host reads them out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from difflib import SequenceMatcher
from operator import itemgetter
from types import ModuleType
from typing import Any

import pluggy
from pydantic import BaseModel

from newel_compose._internal.binding import bind
from newel_compose._internal.faults import Fault, describe_error, with_fault
from newel_compose._internal.hookless import hookless
from newel_compose._internal.hookspecs import HookPolicy, register_hook_policies, register_kinds, register_settings
from newel_compose._internal.results import described, listed
from newel_compose._internal.surroundings import DisturbanceError, is_interrupt, undisturbed
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
    Stage,
    did_you_mean,
    lifecycle_hookspecs,
)

_PREFIX = "register_"
#: The attribute by which pluggy marks implementations of a project's hooks.
_MARK = "newel_impl"
#: Types whose objects cannot have hooks.
_NO_PLUGINS = (str, bytes, int, float, list, tuple, dict)
#: How alike the name of an unknown hook must be to a known one to be taken for a misspelling of it.
_MISSPELT = 0.8


class _Pluggy(pluggy.PluginManager):
    """pluggy that also takes the unmarked methods of a `BasePlugin` for hooks.

    Other plugins mark their hooks; functions that have a hook's name but no mark are noted in `unmarked`.
    """

    def __init__(self, project_name: str) -> None:
        super().__init__(project_name)
        self.unmarked: list[tuple[object, str]] = []

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        return None if name.startswith("__") else super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if name.startswith("__"):
            return None
        if isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), _MARK):
            self._note_unmarked(plugin, name)
            return None  # pluggy itself examines each name of a module at some cost
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None and name in LIFECYCLE and getattr(type(plugin), "__newel_implements_hooks__", False):
            method = getattr(type(plugin), name, None)
            if method is not None and not getattr(method, "is_default", False):
                return pluggy.HookimplOpts(
                    wrapper=False,
                    hookwrapper=False,
                    optionalhook=False,
                    tryfirst=False,
                    trylast=False,
                    specname=None,
                )
        elif options is None:
            self._note_unmarked(plugin, name)
        return options

    def _note_unmarked(self, plugin: object, name: str) -> None:
        """Note a name that may be a hook's, if the plugin itself defines a function of that name."""
        if not (name.startswith(_PREFIX) or name in LIFECYCLE) or not callable(function := getattr(plugin, name, None)):
            return
        if not isinstance(plugin, ModuleType) or getattr(function, "__module__", None) == plugin.__name__:
            self.unmarked.append((plugin, name))


class Manager:
    """Registers plugin objects and reads their hooks; nothing awaited ever goes through pluggy."""

    def __init__(self) -> None:
        self._pluggy = _Pluggy("newel")
        self._rank: dict[str, int] = {}
        #: The plugins of other packages, which must not take from the program what it stands on.
        self.strange: Container[str] = ()
        #: Hook -> the kind that it provides; `owners`: hook -> the plugin that declares the kind.
        self.kinds: dict[str, Kind[Descriptor]] = {}
        self.owners: dict[str, str] = {}
        #: Plugin -> the hooks that it implements but that no enabled plugin declares.
        self.left_out: dict[str, list[str]] = {}
        self._specify(register_settings)
        self._specify(register_kinds)
        self._pluggy.add_hookspecs(lifecycle_hookspecs)
        for kind in KERNEL_KINDS:
            self._declare(kind, "the kernel")
        self._declare(Kind(HookPolicy, register_hook_policies, order="hook_policies", open_ended=True), "the host")

    def _specify(self, specification: Callable[..., object]) -> None:
        namespace = ModuleType(specification.__module__)  # a class costs more to make, and is cyclic garbage
        setattr(namespace, specification.__name__, specification)
        self._pluggy.add_hookspecs(namespace)

    def _declare(self, kind: Kind[Descriptor], owner: str) -> None:
        other = self.owners.setdefault(kind.hook, owner)
        if other != owner or (kind.hook in self.kinds and self.kinds[kind.hook] != kind):
            text = f"the kind of {kind.hook!r} is declared twice, by {other!r} and by {owner!r}"
            why = f"it declares the kind of {kind.hook!r}, which {other!r} declares too"
            raise with_fault(CompositionError(text), owner, why)
        if why := _ill_ordered(kind, self.kinds):
            raise with_fault(CompositionError(f"the plugin {owner!r} {why}"), owner, f"it {why}")
        self.kinds[kind.hook] = kind
        self._specify(kind.specification)

    def add(self, name: str, plugin: object) -> None:
        """Register a plugin under its name."""
        if inspect.isclass(plugin):
            why = f"is the class {plugin.__name__}; name an object of it (plugin = {plugin.__name__}()), or a module"
            raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
        if plugin is None or isinstance(plugin, _NO_PLUGINS):
            why = f"is {plugin!r}, which has no hooks; give a BasePlugin, an object with @hookimpl methods, or a module"
            raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
        self._rank.setdefault(name, len(self._rank))
        try:
            self._pluggy.register(plugin, name=name)
        except pluggy.PluginValidationError as error:
            raise _hookspec_error(name, error) from None
        except ValueError:
            text, why = f"the plugin {name!r} is registered twice", "a plugin of that name was given directly"
            raise with_fault(CompositionError(text), name, why) from None
        except BaseException as error:  # its own __dir__ or __getattr__ raises
            if is_interrupt(error):
                raise
            why = f"its hooks cannot be read: {describe_error(error)}"
            raise with_fault(PluginError(f"the plugin {name!r} cannot take part: {why}"), name, why) from error

    def declare_kinds(self) -> None:
        """Collect the kinds that the plugins declare, then check that plugins implement only known hooks."""
        for name, kinds in self.call("register_kinds"):
            for kind in listed(name, "register_kinds", kinds, Kind):
                if not kind.hook.startswith(_PREFIX):
                    why = f"declares the hook {kind.hook!r}: the name of such a hook must start with {_PREFIX!r}"
                    raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
                try:
                    self._declare(kind, name)
                except pluggy.PluginValidationError as error:
                    raise _hookspec_error(str(self._pluggy.get_name(error.plugin)), error) from None
        self._check()

    def _check(self) -> None:
        """Refuse marked functions that are not hooks, and hooks that are not marked.

        A hook for a kind that no enabled plugin declares is left out.
        """
        faults = [*self._unknown_hooks(), *self._unmarked_hooks()]
        if faults:
            raise CompositionError(faults)
        for names in self.left_out.values():
            names.sort()

    def check_given(self) -> None:
        """Refuse plugin objects that were handed in and of whose hooks some would never run, without a word."""
        unmarked = {id(plugin) for plugin, _ in self._pluggy.unmarked}
        others = [(name, one) for name, one in self._pluggy.list_name_plugin() if id(one) not in unmarked]
        faults = [*self._unmarked_hooks(), *hookless(others, self._pluggy.get_hookcallers)]
        if faults:
            raise CompositionError(faults)

    def _unknown_hooks(self) -> Iterator[Fault]:
        for name, caller in self._callers():
            if caller.has_spec():
                continue
            for impl in caller.get_hookimpls():
                hint = did_you_mean(name, [*self.kinds, *LIFECYCLE])
                if not impl.optionalhook and not (name.startswith(_PREFIX) and not self._misspelt(name)):
                    why = f"implements {name!r}, which is not a hook{hint}"
                    yield Fault(f"the plugin {impl.plugin_name!r} {why}", impl.plugin_name, why=f"it {why}")
                else:
                    self.left_out.setdefault(impl.plugin_name, []).append(name)

    def _unmarked_hooks(self) -> Iterator[Fault]:
        hooks: dict[str, list[str]] = {}
        for plugin, name in self._pluggy.unmarked:
            if name in self.kinds or name in LIFECYCLE or name in ("register_settings", "register_kinds"):
                hooks.setdefault(str(self._pluggy.get_name(plugin)), []).append(name)
        for owner, names in hooks.items():
            why = f"has hooks without @hookimpl of newel_kernel, which are never called: {', '.join(names)}; mark them"
            yield Fault(f"the plugin {owner!r} {why}", owner, why=f"it {why}")

    def _misspelt(self, name: str) -> bool:
        rest = name.removeprefix(_PREFIX)
        names = [hook.removeprefix(_PREFIX) for hook in (*self.kinds, "register_settings", "register_kinds")]
        return any(SequenceMatcher(None, rest, one).ratio() >= _MISSPELT for one in names)

    def _callers(self) -> Iterator[tuple[str, pluggy.HookCaller]]:
        for name in self._pluggy.hook.__dict__:
            caller = getattr(self._pluggy.hook, name)
            if isinstance(caller, pluggy.HookCaller):
                yield name, caller

    def implements(self, hook: str) -> bool:
        """Whether a plugin implements `hook`."""
        return bool(getattr(self._pluggy.hook, hook).get_hookimpls())

    def registers(self) -> bool:
        """Whether a plugin has any hook other than lifecycle hooks."""
        return any(name not in LIFECYCLE and caller.get_hookimpls() for name, caller in self._callers())

    def hooks(self) -> dict[str, list[str]]:
        """The names of the hooks that each plugin implements, sorted."""
        implemented: dict[str, list[str]] = {}
        for name, caller in sorted(self._callers(), key=itemgetter(0)):
            if caller.has_spec():
                for owner in dict.fromkeys(impl.plugin_name for impl in caller.get_hookimpls()):
                    implemented.setdefault(owner, []).append(name)
        return implemented

    def call(self, hook: str, **available: object) -> Iterator[tuple[str, object]]:
        """Call a registration hook, in the order in which plugins were added; yield each one's name with its result."""
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        for impl in sorted(impls, key=lambda i: (not i.tryfirst, i.trylast, self._rank[i.plugin_name])):
            try:
                with undisturbed() if impl.plugin_name in self.strange else nullcontext():
                    result = impl.function(*(available[name] for name in impl.argnames))
            except BaseException as error:  # SystemExit, too: a plugin that exits must not end the program unnamed
                if (isinstance(error, PluginError) and not isinstance(error, DisturbanceError)) or is_interrupt(error):
                    raise
                name, why = impl.plugin_name, f"failed in {hook}: {describe_error(error)}"
                raise with_fault(PluginError(f"the plugin {name!r} {why}"), name, f"it {why}") from error
            yield impl.plugin_name, result  # outside the try: closing this generator is not the plugin's fault

    def collect(self, hook: str, settings: Mapping[str, BaseModel]) -> Iterator[tuple[str, Descriptor]]:
        """The descriptors that plugins return from a registration hook, each with its plugin's name."""
        for name, result in self.call(hook, settings=settings):
            kind = self.kinds[hook].descriptor
            for item in listed(name, hook, described(result, kind), kind):
                yield name, item

    def lifecycle(self, order: Sequence[str], sources: Mapping[str, str]) -> dict[str, tuple[Callbacks, Callbacks]]:
        """The lifecycle hooks that have implementations, as flat tuples: the usual ones, and the fallbacks."""
        return {hook: self._bound(hook, order, sources) for hook in LIFECYCLE if self.implements(hook)}

    def _bound(self, hook: str, order: Sequence[str], sources: Mapping[str, str]) -> tuple[Callbacks, Callbacks]:
        rank = {name: index for index, name in enumerate(order)}
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        ordered = sorted(impls, key=lambda impl: (not impl.tryfirst, rank[impl.plugin_name]))
        callbacks = [
            Bound(
                hook,
                _callable(impl, hook),
                f"plugin {impl.plugin_name!r} ({sources[impl.plugin_name]})",
                plugin=True,
                last=impl.trylast,
            )
            for impl in ordered
        ]
        return tuple(b for b in callbacks if not b.last), tuple(b for b in callbacks if b.last)


def _ill_ordered(kind: Kind[Descriptor], others: Mapping[str, Kind[Descriptor]]) -> str:
    """What is wrong with the order of a kind, or an empty text."""
    name = kind.descriptor.__name__
    if not kind.order and issubclass(kind.descriptor, Stage):
        return (
            f"declares the kind {name}, whose descriptors have anchors, without an order; write Kind(..., order=NAME)"
        )
    if kind.order and not issubclass(kind.descriptor, Stage):
        return f"declares the order {kind.order!r} of the kind {name}, which has no anchors; let {name} be a Stage"
    same = next((one for one in others.values() if kind.order and one.order == kind.order and one != kind), None)
    return f"declares the order {kind.order!r}, which the kind {same.descriptor.__name__} has" if same else ""


def _callable(impl: pluggy.HookImpl, hook: str) -> Callable[..., Any]:
    """The implementation, called by the hook's keywords."""
    name = impl.plugin_name
    try:
        return bind(impl.function, LIFECYCLE[hook].keywords, hook, f"plugin {name!r}")
    except HookSignatureError as error:
        raise with_fault(error, name, f"its {str(error).partition(': ')[2]}") from None


def _hookspec_error(name: str, error: pluggy.PluginValidationError) -> CompositionError:
    why = f"does not fit the hook specifications: {' '.join(str(error).split())}"
    return with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
