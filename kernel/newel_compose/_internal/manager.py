"""The plugin manager: pluggy finds and orders the implementations of hooks; the host reads them out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from difflib import SequenceMatcher
from operator import itemgetter
from types import ModuleType
from typing import Any

import pluggy
from pydantic import BaseModel

from newel_compose._internal.binding import bind
from newel_compose._internal.deprecations import MARK
from newel_compose._internal.faults import Fault, blaming, quoted, with_fault
from newel_compose._internal.hookless import hookless
from newel_compose._internal.hookspecs import host_kinds, register_kinds, register_settings
from newel_compose._internal.results import described, listed
from newel_compose._internal.surroundings import undisturbed
from newel_kernel import (
    KERNEL_KINDS,
    LIFECYCLE,
    Bound,
    Callbacks,
    CompositionError,
    Descriptor,
    HookSignatureError,
    Kind,
    Stage,
    did_you_mean,
    lifecycle_hookspecs,
)

_PREFIX = "register_"
#: The attribute by which pluggy marks implementations of a project's hooks.
_MARK = "newel_impl"
#: The one by which it marks specifications.
_SPECIFICATION = "newel_spec"
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
        #: The hooks that a plugin implements as pluggy's wrappers.
        self.wrappers: list[str] = []

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        return None if name.startswith("__") else super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if name.startswith("__"):
            return None
        if isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), _MARK):
            self._note_unmarked(plugin, name)
            return None  # pluggy itself examines each name of a module at some cost
        options = super().parse_hookimpl_opts(plugin, name)
        if options is not None and (options["wrapper"] or options["hookwrapper"]):
            self.wrappers.append(name)
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
        if hasattr(function, _SPECIFICATION):
            return  # the specification of a kind that it declares
        if not isinstance(plugin, ModuleType) or getattr(function, "__module__", None) == plugin.__name__:
            self.unmarked.append((plugin, name))


class Manager:
    """Registers plugin objects and reads their hooks; nothing awaited ever goes through pluggy."""

    def __init__(self) -> None:
        self._pluggy = _Pluggy("newel")
        self._rank: dict[str, int] = {}
        #: The plugins of other packages, which must not take from the program what it stands on -> their packages.
        self.strange: Mapping[str, str] = {}
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
        for kind in host_kinds():
            self._declare(kind, "the host")

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
        with blaming(name, "cannot be read"):  # its __class__, __dir__ or __getattr__ may raise
            self._add(name, plugin)

    def _add(self, name: str, plugin: object) -> None:
        if inspect.isclass(plugin):
            why = f"is the class {plugin.__name__}; name an object of it (plugin = {plugin.__name__}()), or a module"
            raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
        if plugin is None or isinstance(plugin, _NO_PLUGINS):
            why = f"is {quoted(plugin)}, which has no hooks; give a BasePlugin, an object with @hookimpl methods, "
            why += "or a module"
            raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
        self._rank.setdefault(name, len(self._rank))
        try:
            self._pluggy.register(plugin, name=name)
        except pluggy.PluginValidationError as error:
            raise _hookspec_error(name, error) from None
        except ValueError as error:
            others = {one: other for other, one in self._pluggy.list_name_plugin()}
            if name in others.values():
                text, why = f"the plugin {name!r} is registered twice", "a plugin of that name was given directly"
            elif plugin in others:
                why = f"it is the same object as the plugin {others[plugin]!r}"
                text = f"the plugin {name!r} cannot take part: {why}"
            else:
                raise
            raise with_fault(CompositionError(text), name, why) from error
        if wrappers := self._pluggy.wrappers:
            why = f"implements {', '.join(wrappers)} as a wrapper of pluggy, which newel does not call: "
            why += "write a HookPolicy around lifecycle hooks, or a plain hook"
            raise with_fault(HookSignatureError(f"the plugin {name!r} {why}"), name, f"it {why}")

    def declare_kinds(self) -> None:
        """Collect the kinds that the plugins declare, then check that plugins implement only known hooks."""
        for name, kinds in self.call("register_kinds"):
            with blaming(name, "failed in register_kinds"):
                for kind in listed(name, "register_kinds", kinds, Kind):
                    self._declare_of(name, kind)
        self._check()

    def _declare_of(self, name: str, kind: Kind[Descriptor]) -> None:
        """Declare a kind of a plugin."""
        if why := _ill_formed(kind):
            raise with_fault(CompositionError(f"the plugin {name!r} {why}"), name, f"it {why}")
        try:
            self._declare(kind, name)
        except pluggy.PluginValidationError as error:
            raise _hookspec_error(str(self._pluggy.get_name(error.plugin)), error) from None

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

    def deprecated_hooks(self) -> dict[str, str]:
        """The hooks whose specification is marked as deprecated, each with what the mark says."""
        marks = {name: getattr(caller.spec.function, MARK, None) for name, caller in self._callers() if caller.spec}
        return {hook: mark for hook, mark in marks.items() if isinstance(mark, str)}

    def call(self, hook: str, **available: object) -> Iterator[tuple[str, object]]:
        """Call a registration hook, in the order in which plugins were added; yield each one's name with its result."""
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        for impl in sorted(impls, key=lambda i: (not i.tryfirst, i.trylast, self._rank[i.plugin_name])):
            name = impl.plugin_name
            source = self.strange.get(name)
            with (
                blaming(name, f"failed in {hook}"),
                undisturbed(f"the plugin {name!r} ({source})", f"runs {hook}") if source else nullcontext(),
            ):
                result = impl.function(*(available[one] for one in impl.argnames))
            yield name, result  # outside: closing this generator is not the plugin's fault

    def collect(self, hook: str, settings: Mapping[str, BaseModel]) -> Iterator[tuple[str, Descriptor]]:
        """The descriptors that plugins return from a registration hook, each with its plugin's name."""
        for name, result in self.call(hook, settings=settings):
            kind = self.kinds[hook].descriptor
            with blaming(name, f"failed in {hook}"):
                items = listed(name, hook, described(result, kind), kind)
            for item in items:
                yield name, item

    def lifecycle(self, order: Sequence[str], sources: Mapping[str, str]) -> dict[str, tuple[Callbacks, Callbacks]]:
        """The lifecycle hooks that have implementations, as flat tuples: the usual ones, and the fallbacks."""
        return {hook: self._bound(hook, order, sources) for hook in LIFECYCLE if self.implements(hook)}

    def _bound(self, hook: str, order: Sequence[str], sources: Mapping[str, str]) -> tuple[Callbacks, Callbacks]:
        rank = {name: index for index, name in enumerate(order)}
        impls = getattr(self._pluggy.hook, hook).get_hookimpls()
        ordered = sorted(impls, key=lambda impl: (not impl.tryfirst, rank[impl.plugin_name]))
        callbacks = []
        for impl in ordered:
            name = impl.plugin_name
            with blaming(name, f"failed in {hook}"):
                call = _callable(impl, hook)
            callbacks.append(Bound(hook, call, f"plugin {name!r} ({sources[name]})", plugin=True, last=impl.trylast))
        return tuple(b for b in callbacks if not b.last), tuple(b for b in callbacks if b.last)


def _ill_formed(kind: Kind[Descriptor]) -> str:
    """What is wrong with the fields of a plugin's kind, or an empty text."""
    if not inspect.isclass(kind.descriptor) or not issubclass(kind.descriptor, Descriptor):
        return f"declares a kind with descriptor={quoted(kind.descriptor)}; give a subclass of Descriptor"
    name, specification = kind.descriptor.__name__, kind.specification
    if not callable(specification) or not hasattr(specification, _SPECIFICATION):
        return f"declares the kind {name} with {quoted(specification)}, which is not a hookspec; mark it with @hookspec"
    if not kind.hook.startswith(_PREFIX):
        return f"declares the hook {kind.hook!r}: the name of such a hook must start with {_PREFIX!r}"
    if kind.hook in ("register_settings", "register_kinds"):
        return f"declares the kind {name} with {kind.hook!r}, a hook of the host; choose another name"
    if not isinstance(kind.order, str):
        return f"declares the kind {name} with order={quoted(kind.order)}; an order must be a string"
    return ""


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
