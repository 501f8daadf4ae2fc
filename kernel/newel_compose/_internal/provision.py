"""Provision: what the plugins of a distribution register, chosen, put in order, and found by kind and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from newel_compose._internal.arrangement import arrange
from newel_compose._internal.choices import Choices, part_of
from newel_compose._internal.descriptors import Backend
from newel_compose._internal.discovery import InstalledPoint
from newel_compose._internal.distribution import CHAINS, Distribution
from newel_compose._internal.faults import Fault, blaming
from newel_compose._internal.guards import guarded
from newel_compose._internal.manager import Manager
from newel_compose._internal.ordering import Owned, Placed
from newel_compose._internal.registry import PluginRegistry, words
from newel_kernel import CompositionError, Descriptor, Kind, did_you_mean


class Provision(NamedTuple):
    """What plugins register."""

    registry: PluginRegistry
    #: The stages of each order, in their places.
    placed: Mapping[str, tuple[Placed, ...]]
    #: Plugin -> what is left out of it, each with the reason.
    left_out: Mapping[str, Sequence[str]]


def provide(
    distribution: Distribution,
    manager: Manager,
    sources: Mapping[str, str],
    installed: Mapping[str, InstalledPoint],
    settings: Mapping[str, BaseModel],
) -> Provision:
    """What the plugins of a distribution register; a CompositionError has every problem."""
    trusted = {
        name
        for name, point in installed.items()
        if sources.get(name) == point.source and point.distribution in distribution.trust
    }
    whole = [name for name in distribution.disable if part_of(name, sources) is None]
    disabled = _disabled_stages(distribution, installed)
    choices = Choices(distribution, manager, sources)
    placed: dict[str, tuple[Placed, ...]] = {}
    by_name: dict[type[Descriptor], dict[str, Owned]] = {}
    problems: list[str] = []
    for hook, kind in manager.kinds.items():
        items = [
            Owned(item if plugin in trusted else _guarded(item, hook, plugin, sources[plugin]), plugin, sources[plugin])
            for plugin, item in choices.enabled(hook, manager.collect(hook, settings), disabled)
        ]
        spine = distribution.spine(kind.order)
        owned = choices.chosen(hook, items, spine)
        if not kind.order or kind.open_ended:
            by_name[kind.descriptor] = _unique(kind.descriptor, owned, problems)
            if not kind.order or len(by_name[kind.descriptor]) < len(owned):
                continue
        try:
            arranged = arrange(kind, spine, owned, disabled)
        except CompositionError as error:
            problems.extend(error.problems)
            continue
        placed[kind.order] = choices.explained(hook, arranged)
        by_name[kind.descriptor] = {one.stage.name: Owned(*one[:3]) for one in arranged}
    kinds = list(manager.kinds.values())
    problems += choices.problems([*sources, *installed])
    problems += _unknown_services(distribution, kinds, bool(whole))
    problems += _unknown_orders(distribution, kinds, bool(whole))
    if problems:
        raise CompositionError(problems)
    names = {kind.descriptor: choices.name(kind) for kind in kinds}
    registry = PluginRegistry(by_name, names, _disabled_hint(distribution))
    return Provision(registry, placed, choices.left_out)


def _guarded(item: Descriptor, hook: str, plugin: str, source: str) -> Descriptor:
    with blaming(plugin, f"failed in {hook}"):  # the item's class may be its own, and raise at each question
        return guarded(item, hook, plugin, source)


def _disabled_hint(distribution: Distribution) -> str:
    """What an error of a look-up adds: the plugins that the distribution disables."""
    disable = ", ".join(distribution.disable)
    return f"; distribution {distribution.name!r} disables {disable}" if disable else ""


def _unknown_orders(distribution: Distribution, kinds: Iterable[Kind[Any]], disabled: bool) -> list[str]:
    """Problems: keys under `orders` that no kind has."""
    orders = [kind.order for kind in kinds if kind.order and kind.order not in CHAINS]
    problems = [
        f"{distribution.label}: `orders` names {order!r}, which is a key of its own; write `{order}:` at the top level"
        for order in distribution.orders
        if order in CHAINS
    ]
    if disabled:
        return problems  # a disabled plugin may declare it
    return problems + [
        f"{distribution.label}: `orders` names {order!r}, which no enabled plugin declares{did_you_mean(order, orders)}"
        for order in distribution.orders.keys() - {*orders, *CHAINS}
    ]


def _unknown_services(distribution: Distribution, kinds: Iterable[Kind[Any]], disabled: bool) -> list[str]:
    """Problems: keys under `services` that no kind of store has; a key of a disabled plugin is allowed."""
    stores = [kind.descriptor for kind in kinds if issubclass(kind.descriptor, Backend)]
    services = sorted({store.service for store in stores if store.service})
    return [
        f"{distribution.label}: `services` has no {name!r}{hint} (there are: {', '.join(services) or 'none'})"
        for name in distribution.services
        if name not in services and ((hint := did_you_mean(name, services)) or not disabled)
    ]


def _disabled_stages(distribution: Distribution, installed: Mapping[str, InstalledPoint]) -> dict[str, str]:
    """The stage names of disabled plugins, each with a sentence that says why it is missing.

    A disabled plugin is not imported, so its stages are known by the convention that a plugin's
    processor carries the plugin's name.
    """
    return {
        name: f"the distribution {distribution.name!r} disables the plugin {name!r} ({installed[name].source})"
        for name in distribution.disable
        if name in installed
    }


def _unique(kind: type[Descriptor], owned: Sequence[Owned], problems: list[str]) -> dict[str, Owned]:
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
