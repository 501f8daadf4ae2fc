"""Discovery: finding plugins by entry point, and loading those that a distribution wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stevedore import NamedExtensionManager

from newel_kernel import CompositionError, PluginLoadError, did_you_mean

PLUGIN_GROUP = "newel.plugins"
DISTRIBUTION_GROUP = "newel.distributions"


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """A plugin that is installed: its name, where it points, and the distribution that brought it."""

    name: str
    target: str
    distribution: str
    version: str

    @property
    def source(self) -> str:
        """Distribution and version as one text."""
        return f"{self.distribution} {self.version}".strip()


#: The entry points of a group.
Points = Callable[[str], Iterable[EntryPoint]]


def scan() -> Points:
    """What is installed now, read once for all groups: reading it is the most of what composing again costs."""
    points = entry_points()
    return lambda group: points.select(group=group)


def installed(points: Points | None = None) -> dict[str, InstalledPlugin]:
    """Every installed plugin by name, sorted; two of one name are refused."""
    points = points or scan()
    plugins: dict[str, InstalledPlugin] = {}
    problems = []
    identity = cache(_identity)  # within one call, so that it is never stale
    for point in sorted(points(PLUGIN_GROUP), key=lambda p: (p.name, p.value)):
        plugin = InstalledPlugin(point.name, point.value, *identity(point.dist))
        other = plugins.get(point.name)
        if other is not None and other != plugin:
            problems.append(
                f"the plugin {point.name!r} is installed twice, by {other.source} and by {plugin.source}; "
                f"uninstall one of them"
            )
        plugins.setdefault(point.name, plugin)
    if problems:
        raise CompositionError(problems)
    return plugins


def _identity(package: Distribution | None) -> tuple[str, str]:
    """Name and version of what brought a plugin; each of them parses the package's metadata anew."""
    return (package.name, package.version) if package is not None else ("?", "")


def distribution_files(points: Points | None = None) -> dict[str, Path]:
    """The distributions that installed packages ship: name -> file."""
    points = points or scan()
    files: dict[str, Path] = {}
    problems = []
    for point in sorted(points(DISTRIBUTION_GROUP), key=lambda p: (p.name, p.value)):
        for file in _files(point):
            other = files.setdefault(point.name, file)
            if other != file:
                problems.append(f"the distribution {point.name!r} is installed twice, as {other} and as {file}")
    if problems:
        raise CompositionError(problems)
    return files


def _files(point: EntryPoint) -> list[Path]:
    try:
        spec = find_spec(point.value)
    except ImportError:  # its package is broken; whoever asks for the distribution is told that it is unknown
        spec = None
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return [file for folder in folders if (file := Path(folder) / f"{point.name}.yaml").is_file()]


class _Guarded(EntryPoint):
    """An entry point whose failure is always an Exception that stevedore hands to the failure callback."""

    def load(self) -> Any:
        """The object it points to."""
        try:
            return super().load()
        except (AssertionError, SystemExit) as error:  # stevedore lets these through
            raise ImportError(f"{type(error).__name__}: {error}") from error


class FreshManager(NamedExtensionManager):  # type: ignore[type-arg] # older releases are not generic
    """Stevedore without its disk cache, which hides a plugin installed in the last two minutes."""

    def __init__(self, points: Points, *args: Any, **options: Any) -> None:
        self._points = points
        super().__init__(*args, **options)

    def list_entry_points(self) -> list[EntryPoint]:
        """The entry points of the group, as the scan found them."""
        return [_Guarded(p.name, p.value, p.group) for p in self._points(self.namespace)]


def load(names: Sequence[str], points: Points | None = None) -> tuple[dict[str, Any], dict[str, BaseException]]:
    """Import the named plugins: what loaded, and what failed with its error."""
    failures: dict[str, BaseException] = {}

    def note_failure(_: Any, point: EntryPoint, error: BaseException) -> None:
        failures[point.name] = error

    manager = FreshManager(
        points or scan(),
        PLUGIN_GROUP,
        names=list(names),
        name_order=True,
        on_load_failure_callback=note_failure,
        # Stevedore counts those that failed as missing, too; their own error says more.
        on_missing_entrypoints_callback=lambda missing: failures.update(
            {name: LookupError("no installed distribution provides it") for name in missing if name not in failures}
        ),
    )
    return {extension.name: extension.plugin for extension in manager}, failures


def check_named(named: Iterable[str], plugins: Mapping[str, InstalledPlugin], source: str) -> None:
    """Refuse a distribution that names plugins which are not installed."""
    problems = [
        f"{source} names the plugin {name!r}, which is not installed{did_you_mean(name, plugins)}"
        for name in named
        if name not in plugins
    ]
    if problems:
        raise CompositionError(problems)


def load_error(plugin: InstalledPlugin, error: BaseException) -> PluginLoadError:
    """The error of a plugin that a distribution needs and that does not load."""
    failure = PluginLoadError(
        f"the plugin {plugin.name!r} ({plugin.source}, {plugin.target}) failed to load: "
        f"{type(error).__name__}: {error}; reinstall it, or list it under `disable:` in the distribution"
    )
    failure.__cause__ = error
    return failure
