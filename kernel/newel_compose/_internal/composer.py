"""The host: composes the plugins of a distribution into one frozen Composition."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeAlias, cast

from pydantic import BaseModel

from newel_compose._internal import discovery
from newel_compose._internal.composition import Composition, PluginRecord
from newel_compose._internal.descriptors import Backend
from newel_compose._internal.distribution import Distribution
from newel_compose._internal.faults import Fault, describe_error
from newel_compose._internal.guards import guarded
from newel_compose._internal.hookspecs import HookPolicy
from newel_compose._internal.left_out import LeftOut, clashing, culprits_of, refuse_strictly, report
from newel_compose._internal.manager import Manager
from newel_compose._internal.ordering import Owned, Placed, order_chain
from newel_compose._internal.registry import PluginRegistry, words
from newel_compose._internal.selection import check_lock, select_distribution
from newel_compose._internal.settings import validated_settings
from newel_kernel import (
    Bound,
    Callbacks,
    CompositionError,
    Descriptor,
    NewelError,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    Stage,
    ToolPolicy,
    did_you_mean,
)

_CHAINS: dict[str, type[Stage]] = {
    "request_chain": RequestProcessor,
    "response_chain": ResponseProcessor,
    "result_chain": ResultProcessor,
    "tool_chain": ToolPolicy,
}
#: The package whose plugins are not guarded.
_OURS = "newel"
#: Hook -> (plugins' implementations, fallbacks).
Hooks = Mapping[str, tuple[Callbacks, Callbacks]]
#: (name, source) of a distribution -> the installed entry points, and the composition made from them.
_composed: dict[tuple[str, str], tuple[discovery.Points, Composition]] = {}


class _Loaded(NamedTuple):
    """A plugin object with its record."""

    name: str
    plugin: object
    record: PluginRecord


#: The plugins that loaded, the records of all that were tried, and the errors of those that failed.
_LoadResult: TypeAlias = tuple[list[_Loaded], list[PluginRecord], Mapping[str, BaseException]]


def compose(
    distribution: str | Path | Distribution | None = None,
    *,
    plugins: Sequence[object] = (),
    lock: Path | None = None,
    groups: Sequence[str] = (),
) -> Composition:
    """Compose a distribution (see `selection` for the default), with further plugin objects.

    `groups` are further entry-point groups, whose plugins all take part: plugins that only some commands need and
    that no run of an agent should import. A lock does not cover them.
    Raises CompositionError with every problem, each naming the packages it comes from.
    """
    points = discovery.scan(groups)
    definition, lock_here = select_distribution(distribution, points)
    return _compose(definition, points, plugins, lock or lock_here if not groups else None, groups)


def _compose(
    distribution: Distribution,
    points: discovery.Points,
    plugins: Sequence[object],
    lock: Path | None,
    groups: Sequence[str] = (),
) -> Composition:
    installed = discovery.installed(points)
    objects = [_object(plugin, index) for index, plugin in enumerate(plugins)]
    _check_mentions(distribution, discovery.installed_anywhere(points), [one.name for one in objects])
    with _gc_paused():
        loaded, records, failures = _load(distribution, installed, points)
        for group in groups:
            more, more_records, more_failures = _load_group(group, distribution, points)
            loaded, records, failures = [*more, *loaded], [*records, *more_records], {**failures, **more_failures}
    left_out = clashing(distribution, points)
    failed = [record for record in records if record.state == "failed"]
    left_out.update((r.name, LeftOut(r.name, r.source, r.why, failures[r.name])) for r in failed)
    refuse_strictly(distribution, left_out.values())
    while True:
        taking_part = [one for one in loaded if one.name not in left_out]
        try:
            composition = _build(distribution, installed, objects, taking_part, records, left_out)
            break
        except NewelError as error:
            culprits = culprits_of(error, distribution, {one.name: one.record.source for one in taking_part})
            if distribution.strict or not culprits:
                raise
            left_out.update((one.name, one) for one in culprits)
    report(left_out.values())
    if lock is not None:
        check_lock(composition, lock)
    return composition


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Without garbage collection: modules stay alive, and scanning them is a tenth of the cost of composing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _build(
    distribution: Distribution,
    installed: dict[str, discovery.InstalledPoint],
    objects: Sequence[_Loaded],
    loaded: Sequence[_Loaded],
    records: Sequence[PluginRecord],
    left_out: Mapping[str, LeftOut],
) -> Composition:
    """Compose these plugins; an error carries which of them could be left out."""
    manager = Manager()
    for one in (*objects, *loaded):
        manager.add(one.name, one.plugin)
    manager.declare_kinds()
    sources = {one.name: one.record.source for one in (*objects, *loaded)}
    settings = validated_settings(distribution, manager, sources)
    registry, placed = _provide(distribution, manager, sources, installed, settings)
    hooks = manager.hooks()
    records = [
        record._replace(state="left out", why=left_out[record.name].why)
        if record.state == "enabled" and record.name in left_out
        else _with_hooks(record, hooks.get(record.name, ()), manager.left_out.get(record.name, ()))
        for record in (*(one.record for one in objects), *records)
    ]
    return Composition(
        distribution=distribution,
        placed=placed,
        hooks=_with_policies(manager.lifecycle([one.name for one in (*objects, *loaded)], sources), registry),
        registry=registry,
        plugins=tuple(records),
        settings=settings,
        objects=tuple(one.plugin for one in objects),
        **{chain: tuple(p.stage for p in placed[chain]) for chain in _CHAINS},  # type: ignore[arg-type]
    )


def compose_once(distribution: str | None = None) -> Composition:
    """`compose(distribution)`, cached; made again once the distribution's file or the installed plugins change."""
    points = discovery.scan()
    definition, lock = select_distribution(distribution, points)
    key = (definition.name, definition.source)
    last_points, composition = _composed.get(key, (None, None))
    if composition is None or composition.distribution != definition or last_points != points:
        composition = _compose(definition, points, (), lock)
        _composed[key] = points, composition
    return composition


def extend(composition: Composition, plugins: Sequence[object]) -> Composition:
    """`composition` with further plugin objects, whose hooks come first.

    Plugins that only have lifecycle hooks are added to the composition; a plugin that registers something (a
    processor, say) makes it compose again.
    """
    if not plugins:
        return composition
    manager = Manager()
    objects = [_object(plugin, index) for index, plugin in enumerate(plugins)]
    for one in objects:
        manager.add(one.name, one.plugin)
    if manager.registers():
        return compose(composition.distribution, plugins=(*plugins, *composition.objects))
    names = [one.name for one in objects]
    first = manager.lifecycle(names, {one.name: one.record.source for one in objects})
    hooks = _merged(_with_policies(first, composition.registry), composition.hooks)
    return replace(composition, hooks=hooks, objects=(*plugins, *composition.objects))


def _with_policies(hooks: Hooks, registry: PluginRegistry) -> Hooks:
    """`hooks`, wrapped by the hook policies of plugins."""
    policies = registry.all(HookPolicy)[::-1]

    def wrapped(bound: Bound) -> Bound:
        for policy in policies:
            bound = policy.wrap(bound)
        return bound

    if not policies:
        return hooks
    return {name: (tuple(map(wrapped, tier)), tuple(map(wrapped, last))) for name, (tier, last) in hooks.items()}


def _merged(first: Hooks, second: Hooks) -> Hooks:
    """The hooks of both, those of `first` before those of `second`."""
    none: tuple[Callbacks, Callbacks] = ((), ())
    pairs = {name: (first.get(name, none), second.get(name, none)) for name in (*second, *first)}
    return {name: (a[0] + b[0], a[1] + b[1]) for name, (a, b) in pairs.items()}


def _check_mentions(distribution: Distribution, installed: Sequence[str], objects: Sequence[str]) -> None:
    """Refuse names under `disable`, `settings` and `replace` that no plugin has: a typo must not pass.

    They may name a plugin of a group that takes no part here: the file is the same for all commands.
    """
    names = [*installed, *objects]
    problems = [
        f"{distribution.label}: `{key}` names the plugin {name!r}, which is not installed{did_you_mean(name, names)}"
        for key, mentioned, candidates in (
            ("disable", distribution.disable, installed),
            ("settings", distribution.settings, names),
            ("replace", distribution.replace.values(), names),
        )
        for name in mentioned
        if name not in candidates
    ]
    if problems:
        raise CompositionError(problems)


def _load(
    distribution: Distribution, installed: dict[str, discovery.InstalledPoint], points: discovery.Points
) -> _LoadResult:
    """Load the plugins that the distribution names, and with `autoload` all others that are installed."""
    names = [name for name in distribution.plugins if name not in distribution.disable]
    discovery.check_named(names, installed, distribution.label, points)
    others = sorted(installed.keys() - names - set(distribution.disable)) if distribution.autoload else []
    objects, failures = discovery.load([*names, *others], points)
    for name in names:
        if name in failures:
            raise discovery.load_error(installed[name], failures[name])
    loaded: list[_Loaded] = []
    records: list[PluginRecord] = []
    for name in (*names, *others):
        plugin = installed[name]
        if name in failures:
            records.append(PluginRecord(name, plugin.distribution, plugin.version, "failed", _why(failures[name])))
            continue
        why = "named by the distribution" if name in names else "installed, and the distribution has autoload"
        record = PluginRecord(name, plugin.distribution, plugin.version, "enabled", why)
        loaded.append(_Loaded(name, objects[name], record))
        records.append(record)
    for name in sorted(installed.keys() - {record.name for record in records}):
        state = "disabled" if name in distribution.disable else "available"
        why = "disabled by the distribution" if state == "disabled" else "installed; the distribution does not name it"
        records.append(PluginRecord(name, installed[name].distribution, installed[name].version, state, why))
    return loaded, records, failures


def _load_group(group: str, distribution: Distribution, points: discovery.Points) -> _LoadResult:
    """Load every plugin of a further group; one that fails is left out, and its record says why."""
    plugins = discovery.installed(points, group)
    names = [name for name in plugins if name not in distribution.disable]
    objects, failures = discovery.load(names, points, group)
    records = {
        name: PluginRecord(
            name,
            plugins[name].distribution,
            plugins[name].version,
            *(("failed", _why(failures[name])) if name in failures else ("enabled", f"installed in the group {group}")),
        )
        for name in names
    }
    loaded = [_Loaded(name, objects[name], records[name]) for name in names if name in objects]
    return loaded, [*records.values()], failures


def _why(failure: BaseException) -> str:
    return f"failed to load: {describe_error(failure)}"


def _object(plugin: object, index: int) -> _Loaded:
    """A plugin object that was handed in directly."""
    name = getattr(plugin, "name", None) or getattr(plugin, "__name__", None) or f"{type(plugin).__name__}-{index}"
    module = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    record = PluginRecord(str(name), f"given directly, {module}", "", "enabled", "given directly")
    return _Loaded(str(name), plugin, record)


def _provide(
    distribution: Distribution,
    manager: Manager,
    sources: dict[str, str],
    installed: dict[str, discovery.InstalledPoint],
    settings: Mapping[str, BaseModel],
) -> tuple[PluginRegistry, dict[str, tuple[Placed, ...]]]:
    by_kind: dict[type[Descriptor], list[Owned]] = {}
    # A plugin of a group that takes no part here cannot replace anything here.
    unused = {name: plugin for name, plugin in distribution.replace.items() if plugin in sources or plugin in installed}
    ours = {
        name for name, point in installed.items() if sources.get(name) == point.source and point.distribution == _OURS
    }
    for hook, kind in manager.kinds.items():
        items = [
            Owned(item if plugin in ours else guarded(item, hook, plugin, sources[plugin]), plugin, sources[plugin])
            for plugin, item in manager.collect(hook, settings)
        ]
        # A replacement applies in the kinds in which its plugin provides that name; other kinds may have the name, too.
        replaced = {one.item.name for one in items if distribution.replace.get(one.item.name) == one.plugin}
        for one in items:
            name = one.item.name
            if name not in replaced or distribution.replace[name] == one.plugin:
                by_kind.setdefault(kind.descriptor, []).append(one)
        for name in replaced:
            unused.pop(name, None)
    disabled = _disabled_stages(distribution, installed)
    problems = [
        f"{distribution.label}: `replace` takes {name!r} from {plugin!r}, a plugin that does not provide it"
        for name, plugin in unused.items()
    ]
    problems += _unknown_services(distribution, [kind.descriptor for kind in manager.kinds.values()])
    orders = {kind.order: cast("type[Stage]", kind.descriptor) for kind in manager.kinds.values() if kind.order}
    placed = _placed(distribution, orders, by_kind, disabled, problems)
    unique = {kind: _unique(kind, owned, problems) for kind, owned in by_kind.items()}
    unique |= {orders[o]: {p.stage.name: Owned(p.stage, p.plugin, p.source) for p in placed.get(o, ())} for o in orders}
    if problems:
        raise CompositionError(problems)
    disable = ", ".join(distribution.disable)
    hint = f"; distribution {distribution.name!r} disables {disable}" if disable else ""
    return PluginRegistry(unique, {kind.descriptor for kind in manager.kinds.values()}, hint), placed


def _placed(
    distribution: Distribution,
    orders: dict[str, type[Stage]],
    by_kind: dict[type[Descriptor], list[Owned]],
    disabled: dict[str, str],
    problems: list[str],
) -> dict[str, tuple[Placed, ...]]:
    """The stages of each chain in their order, taken out of `by_kind`; faults are added to `problems`."""
    if not distribution.disable:  # else a disabled plugin may declare it
        problems += [
            f"{distribution.label}: `orders` names {order!r}, which no enabled plugin declares"
            f"{did_you_mean(order, orders)}"
            for order in distribution.orders.keys() - orders.keys()
        ]
    chains: dict[str, tuple[type[Stage], Sequence[str]]] = {
        chain: (stage, getattr(distribution, chain)) for chain, stage in _CHAINS.items()
    }
    chains |= {order: (stage, distribution.orders.get(order, ())) for order, stage in orders.items()}
    placed: dict[str, tuple[Placed, ...]] = {}
    for chain, (stage, spine) in chains.items():
        try:
            placed[chain] = order_chain(chain, spine, by_kind.pop(stage, []), disabled)
        except CompositionError as error:
            problems.extend(error.problems)
    return placed


def _unknown_services(distribution: Distribution, kinds: Iterable[type[Descriptor]]) -> list[str]:
    """Problems: keys under `services` that no kind of store has; a key of a disabled plugin is allowed."""
    services = sorted({kind.service for kind in kinds if issubclass(kind, Backend) and kind.service})
    return [
        f"{distribution.label}: `services` has no {name!r}{hint} (there are: {', '.join(services) or 'none'})"
        for name in distribution.services
        if name not in services and ((hint := did_you_mean(name, services)) or not distribution.disable)
    ]


def _disabled_stages(distribution: Distribution, installed: dict[str, discovery.InstalledPoint]) -> dict[str, str]:
    """The stage names of disabled plugins, each with a sentence that says why it is missing.

    A disabled plugin is not imported, so its stages are known by the convention that a plugin's
    processor carries the plugin's name.
    """
    return {
        name: f"the distribution {distribution.name!r} disables the plugin {name!r} ({installed[name].source})"
        for name in distribution.disable
        if name in installed
    }


def _unique(kind: type[Descriptor], owned: Iterable[Owned], problems: list[str]) -> dict[str, Owned]:
    unique: dict[str, Owned] = {}
    for one in owned:
        other = unique.setdefault(one.item.name, one)
        if other is not one:
            remedy = "name one under `replace:` or disable the other"
            text = (
                f"{kind.__name__} {one.item.name!r} is provided by the plugins {other.plugin!r} ({other.source}) and "
                f"{one.plugin!r} ({one.source}); {remedy}"
            )
            why = (
                f"it provides the {words(kind)} {one.item.name!r}, which {other.source} provides too; {remedy} in "
                f"newel.yaml"
            )
            problems.append(Fault(text, other.plugin, one.plugin, why=why))
    return unique


def _with_hooks(record: PluginRecord, hooks: Sequence[str], left_out: Sequence[str]) -> PluginRecord:
    why = tuple(f"{hook}: no enabled plugin declares that kind" for hook in left_out)
    return record._replace(hooks=tuple(hooks), left_out=why)
