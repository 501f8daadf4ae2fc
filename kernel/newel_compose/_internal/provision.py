"""Provision: what the plugins of a distribution register, chosen, put in order, and found by kind and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from newel_compose._internal.arrangement import arrange
from newel_compose._internal.descriptors import Backend
from newel_compose._internal.discovery import InstalledPoint
from newel_compose._internal.distribution import CHAINS, Distribution
from newel_compose._internal.faults import Fault
from newel_compose._internal.guards import guarded
from newel_compose._internal.manager import Manager
from newel_compose._internal.ordering import Owned, Placed
from newel_compose._internal.registry import PluginRegistry, words
from newel_kernel import CompositionError, Descriptor, Kind, did_you_mean

#: The package whose plugins are not guarded.
_OURS = "newel"
#: The stages of each order, in their places.
Orders = dict[str, tuple[Placed, ...]]


def provide(
    distribution: Distribution,
    manager: Manager,
    sources: Mapping[str, str],
    installed: Mapping[str, InstalledPoint],
    settings: Mapping[str, BaseModel],
) -> tuple[PluginRegistry, Orders]:
    """What the plugins register; a CompositionError has every problem."""
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
    kinds = list(manager.kinds.values())
    problems += _unknown_services(distribution, kinds)
    problems += _unknown_orders(distribution, kinds)
    placed: Orders = {}
    by_name: dict[type[Descriptor], dict[str, Owned]] = {}
    for kind in kinds:
        owned = by_kind.get(kind.descriptor, [])
        if not kind.order:
            by_name[kind.descriptor] = _unique(kind.descriptor, owned, problems)
            continue
        try:
            placed[kind.order] = arrange(kind, distribution.spine(kind.order), owned, disabled)
        except CompositionError as error:
            problems.extend(error.problems)
            continue
        by_name[kind.descriptor] = {one.stage.name: Owned(*one[:3]) for one in placed[kind.order]}
    if problems:
        raise CompositionError(problems)
    disable = ", ".join(distribution.disable)
    hint = f"; distribution {distribution.name!r} disables {disable}" if disable else ""
    return PluginRegistry(by_name, {kind.descriptor for kind in kinds}, hint), placed


def _unknown_orders(distribution: Distribution, kinds: Iterable[Kind[Any]]) -> list[str]:
    """Problems: keys under `orders` that no kind has."""
    orders = [kind.order for kind in kinds if kind.order and kind.order not in CHAINS]
    problems = [
        f"{distribution.label}: `orders` names {order!r}, which is a key of its own; write `{order}:` at the top level"
        for order in distribution.orders
        if order in CHAINS
    ]
    if distribution.disable:
        return problems  # a disabled plugin may declare it
    return problems + [
        f"{distribution.label}: `orders` names {order!r}, which no enabled plugin declares{did_you_mean(order, orders)}"
        for order in distribution.orders.keys() - {*orders, *CHAINS}
    ]


def _unknown_services(distribution: Distribution, kinds: Iterable[Kind[Any]]) -> list[str]:
    """Problems: keys under `services` that no kind of store has; a key of a disabled plugin is allowed."""
    stores = [kind.descriptor for kind in kinds if issubclass(kind.descriptor, Backend)]
    services = sorted({store.service for store in stores if store.service})
    return [
        f"{distribution.label}: `services` has no {name!r}{hint} (there are: {', '.join(services) or 'none'})"
        for name in distribution.services
        if name not in services and ((hint := did_you_mean(name, services)) or not distribution.disable)
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
