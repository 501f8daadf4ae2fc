"""Loading: the plugins that take part in a composition, and a record of each that is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import NamedTuple

from newel_compose._internal import discovery
from newel_compose._internal.composition import PluginRecord
from newel_compose._internal.distribution import Distribution, plugins_of
from newel_compose._internal.faults import describe_error


class Loaded(NamedTuple):
    """A plugin object with its record."""

    name: str
    plugin: object
    record: PluginRecord


class Load(NamedTuple):
    """The plugins that loaded, the records of all that were tried, and the errors of those that failed."""

    plugins: list[Loaded]
    records: list[PluginRecord]
    failures: Mapping[str, BaseException]


def load_plugins(
    distribution: Distribution, installed: Mapping[str, discovery.InstalledPoint], points: discovery.Points
) -> Load:
    """Load the plugins that the distribution names, and with `autoload` all others that are installed."""
    names = [name for name in distribution.plugins if name not in distribution.disable]
    others = sorted(installed.keys() - names - set(distribution.disable)) if distribution.autoload else []
    objects, failures = discovery.load([*names, *others], points)
    if needed := sorted(plugins_of(distribution) & failures.keys()):  # one may be a guard, which must not be off
        raise discovery.load_errors([installed[name] for name in needed], failures)
    loaded: list[Loaded] = []
    records: list[PluginRecord] = []
    for name in (*names, *others):
        plugin = installed[name]
        if name in failures:
            records.append(_record(plugin, "failed", _why(failures[name])))
            continue
        why = "named by the distribution" if name in names else "installed, and the distribution has autoload"
        record = _record(plugin, "enabled", why)
        loaded.append(Loaded(name, objects[name], record))
        records.append(record)
    return Load(loaded, [*records, *_idle(distribution, installed, [*names, *others])], failures)


def _idle(
    distribution: Distribution, installed: Mapping[str, discovery.InstalledPoint], tried: Iterable[str]
) -> list[PluginRecord]:
    """The records of the plugins that were not tried."""
    return [
        _record(installed[name], "disabled", "disabled by the distribution")
        if name in distribution.disable
        else _record(installed[name], "available", "installed; the distribution does not name it")
        for name in sorted(installed.keys() - set(tried))
    ]


def load_group(group: str, distribution: Distribution, points: discovery.Points) -> Load:
    """Load every plugin of a further group; one that fails is left out, and its record says why."""
    plugins = discovery.installed(points, group)
    names = [name for name in plugins if name not in distribution.disable]
    objects, failures = discovery.load(names, points, group)
    records = {
        name: _record(plugins[name], "failed", _why(failures[name]))
        if name in failures
        else _record(plugins[name], "enabled", f"installed in the group {group}")
        for name in names
    }
    return Load([Loaded(name, objects[name], records[name]) for name in objects], [*records.values()], failures)


def given_plugin(plugin: object, index: int) -> Loaded:
    """A plugin object that was handed in directly."""
    name = getattr(plugin, "name", None) or getattr(plugin, "__name__", None) or f"{type(plugin).__name__}-{index}"
    module = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    record = PluginRecord(str(name), f"given directly, {module}", "", "enabled", "given directly")
    return Loaded(str(name), plugin, record)


def _record(plugin: discovery.InstalledPoint, state: str, why: str) -> PluginRecord:
    return PluginRecord(plugin.name, plugin.distribution, plugin.version, state, why)


def _why(failure: BaseException) -> str:
    return f"failed to load: {describe_error(failure)}"
