"""The host: composes the plugins of a distribution into one frozen Composition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from newel_compose._internal import discovery
from newel_compose._internal.choices import part_of
from newel_compose._internal.composition import Composition, PluginRecord
from newel_compose._internal.deprecations import deprecations_of
from newel_compose._internal.distribution import CHAINS, Distribution, plugins_of
from newel_compose._internal.exclusions import LeftOut, clashing, culprits_of, refuse_strictly, report
from newel_compose._internal.faults import Fault, blaming, quoted
from newel_compose._internal.hookspecs import HookPolicy, StagePolicy
from newel_compose._internal.loading import Loaded, given_plugin, load_group, load_plugins
from newel_compose._internal.lock import check_lock
from newel_compose._internal.manager import Manager
from newel_compose._internal.ordering import Owned, Placed
from newel_compose._internal.package_files import OWN_PACKAGE
from newel_compose._internal.provision import provide
from newel_compose._internal.registry import PluginRegistry
from newel_compose._internal.restaging import restaged
from newel_compose._internal.selection import select_distribution
from newel_compose._internal.setting_sources import overlaid
from newel_compose._internal.settings import validated_settings
from newel_kernel import Bound, Callbacks, CompositionError, NewelError, Stage, did_you_mean

#: Hook -> (plugins' implementations, fallbacks).
Hooks = Mapping[str, tuple[Callbacks, Callbacks]]
#: (name, source) of a distribution -> the installed entry points, and the composition made from them.
_composed: dict[tuple[str, str], tuple[discovery.Points, Composition]] = {}


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
    definition = overlaid(definition, discovery.installed_anywhere(points))
    return _compose(definition, points, plugins, lock or lock_here if not groups else None, groups)


def _compose(
    distribution: Distribution,
    points: discovery.Points,
    plugins: Sequence[object],
    lock: Path | None,
    groups: Sequence[str] = (),
) -> Composition:
    installed = discovery.installed(points)
    objects = [given_plugin(plugin, index) for index, plugin in enumerate(plugins)]
    _check_mentions(distribution, points, [one.name for one in objects])
    loaded, records, failures = load_plugins(distribution, installed, points)
    for group in groups:
        more, more_records, more_failures = load_group(group, distribution, points)
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


def _build(
    distribution: Distribution,
    installed: dict[str, discovery.InstalledPoint],
    objects: Sequence[Loaded],
    loaded: Sequence[Loaded],
    records: Sequence[PluginRecord],
    left_out: Mapping[str, LeftOut],
) -> Composition:
    """Compose these plugins; an error carries which of them could be left out."""
    manager = Manager()
    manager.strange = {one.name: one.record.source for one in loaded if one.record.distribution != OWN_PACKAGE}
    for one in (*objects, *loaded):
        manager.add(one.name, one.plugin)
    manager.declare_kinds()
    sources = {one.name: one.record.source for one in (*objects, *loaded)}
    settings = validated_settings(distribution, manager, sources)
    provision = provide(distribution, manager, sources, installed, settings)
    hooks = manager.hooks()
    deprecated = deprecations_of(sources, hooks, manager.deprecated_hooks())
    records = [
        record._replace(state="left out", why=left_out[record.name].why)
        if record.state == "enabled" and record.name in left_out
        else record._replace(
            hooks=tuple(hooks.get(record.name, ())),
            deprecated=deprecated.get(record.name, ()) if record.state == "enabled" else (),
            left_out=(
                *(f"{hook}: no enabled plugin declares that kind" for hook in manager.left_out.get(record.name, ())),
                *provision.left_out.get(record.name, ()),
            ),
        )
        for record in (*(one.record for one in objects), *records)
    ]
    composition = Composition(
        distribution=distribution,
        placed=provision.placed,
        hooks=_with_policies(manager.lifecycle([one.name for one in (*objects, *loaded)], sources), provision.registry),
        registry=provision.registry,
        plugins=tuple(records),
        settings=settings,
        objects=tuple(one.plugin for one in objects),
        **{chain: tuple(p.stage for p in provision.placed[chain]) for chain in CHAINS},  # type: ignore[arg-type]
    )
    return _with_stage_policies(composition)


def compose_once(distribution: str | None = None) -> Composition:
    """`compose(distribution)`, cached; made again once the distribution's file or the installed plugins change."""
    points = discovery.scan()
    definition, lock = select_distribution(distribution, points)
    definition = overlaid(definition, discovery.installed_anywhere(points))
    key = (definition.name, definition.source)
    last_points, composition = _composed.get(key, (None, None))
    if composition is None or composition.distribution != definition or last_points != points:
        composition = _compose(definition, points, (), lock)
        _composed[key] = points, composition
    return composition


def extend(composition: Composition, plugins: Sequence[object]) -> Composition:
    """`composition` with further plugin objects, whose hooks come first.

    Plugins that only have lifecycle hooks are added to the composition; a plugin that registers something (such as
    a processor) makes it compose again.
    """
    if not plugins:
        return composition
    manager = Manager()
    objects = [given_plugin(plugin, index) for index, plugin in enumerate(plugins)]
    for one in objects:
        manager.add(one.name, one.plugin)
    manager.check_given()
    if manager.registers():
        return compose(composition.distribution, plugins=(*plugins, *composition.objects))
    names = [one.name for one in objects]
    first = manager.lifecycle(names, {one.name: one.record.source for one in objects})
    hooks = _merged(_with_policies(first, composition.registry), composition.hooks)
    return replace(composition, hooks=hooks, objects=(*plugins, *composition.objects))


def _with_policies(hooks: Hooks, registry: PluginRegistry) -> Hooks:
    """`hooks`, wrapped by the hook policies of plugins."""
    policies = list(registry.owned(HookPolicy).values())[::-1]

    def wrapped(bound: Bound) -> Bound:
        for owned in policies:
            with blaming(owned.plugin, f"failed in its hook policy {owned.item.name!r}"):
                bound = owned.item.wrap(bound)
        return bound

    if not policies:
        return hooks
    return {name: (tuple(map(wrapped, tier)), tuple(map(wrapped, last))) for name, (tier, last) in hooks.items()}


def _with_stage_policies(composition: Composition) -> Composition:
    """`composition`, its stages wrapped by the stage policies of plugins."""
    policies = list(composition.registry.owned(StagePolicy).values())[::-1]
    if not policies:
        return composition
    names = [one.stage.name for placed in composition.placed.values() for one in placed]
    unknown = [
        _unknown_stage(owned, name, did_you_mean(name, names))
        for owned in policies
        for name in owned.item.stages
        if name not in names
    ]
    if unknown:
        raise CompositionError(unknown)
    kinds = [kind for kind, _ in composition.registry.kinds()]

    def change(placed: Placed) -> Stage:
        stage: Stage = placed.stage
        for owned in policies:
            with blaming(owned.plugin, f"failed in its stage policy {owned.item.name!r}"):
                wrapped = owned.item.wrap(placed._replace(stage=stage))
                if wrapped.name != stage.name or any(isinstance(stage, k) != isinstance(wrapped, k) for k in kinds):
                    raise TypeError(f"it returned {quoted(wrapped)} for the stage {stage.name!r}")
                stage = wrapped
        return stage

    return restaged(composition, change)


def _unknown_stage(owned: Owned, name: str, hint: str) -> Fault:
    """The problem that a stage policy names a stage that there is not."""
    why = f"names the stage {name!r} in its policy {owned.item.name!r}, which no enabled plugin provides{hint}"
    return Fault(f"the plugin {owned.plugin!r} ({owned.source}) {why}", owned.plugin, why=f"it {why}")


def _merged(first: Hooks, second: Hooks) -> Hooks:
    """The hooks of both, those of `first` before those of `second`."""
    none: tuple[Callbacks, Callbacks] = ((), ())
    pairs = {name: (first.get(name, none), second.get(name, none)) for name in (*second, *first)}
    return {name: (a[0] + b[0], a[1] + b[1]) for name, (a, b) in pairs.items()}


def _check_mentions(distribution: Distribution, points: discovery.Points, objects: Sequence[str]) -> None:
    """Refuse names under `disable`, `settings`, `replace` and `trust` that nothing has: a typo must not pass.

    They may name a plugin of a group that takes no part here: the file is the same for all commands.
    """
    installed = discovery.installed_anywhere(points)
    names = [*installed, *objects]
    packages = {point.distribution for group in points.values() for point in group}
    whole = [one.partition(".")[0] if "." in one else one for one in distribution.disable if not part_of(one, names)]
    plugins = discovery.installed(points)
    named = [name for name in distribution.plugins if name not in distribution.disable]
    problems = discovery.unknown_plugins(named, plugins, distribution.label, points)
    problems += _unused(distribution, plugins, objects)
    problems += [
        f"{distribution.label}: `{key}` names the {what} {name!r}, which is not installed{did_you_mean(name, known)}"
        for key, what, mentioned, known in (
            ("disable", "plugin", whole, installed),
            ("settings", "plugin", distribution.settings, names),
            ("replace", "plugin", distribution.replace.values(), names),
            ("trust", "package", distribution.trust, packages),
        )
        for name in mentioned
        if name not in known
    ]
    if problems:
        raise CompositionError(problems)


def _unused(
    distribution: Distribution, installed: Mapping[str, discovery.InstalledPoint], objects: Collection[str]
) -> list[str]:
    """Problems: plugins that are configured and take no part. One of them may be a guard, which must not be off."""
    if distribution.autoload:
        return []
    idle = (installed.keys() & plugins_of(distribution)) - {*distribution.plugins, *objects}
    return [
        f"{distribution.label}: `{'settings' if name in distribution.settings else 'replace'}` names the plugin "
        f"{name!r} ({installed[name].source}), which takes no part: list it under `plugins`, or take the entry out"
        for name in sorted(idle)
    ]
