"""Discovery: finding plugins by entry point, and loading those that a distribution wants."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, EntryPoint, distributions
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from stevedore import NamedExtensionManager

from newel_compose._internal import package_files
from newel_compose._internal.api_versions import API_GROUP, unmet_api
from newel_compose._internal.faults import describe_error
from newel_compose._internal.package_files import OWN_PACKAGE
from newel_compose._internal.requirements import unmet as unmet_requirements
from newel_compose._internal.surroundings import undisturbed
from newel_kernel import PluginLoadError, did_you_mean, error_text, is_interrupt, plain
from newel_types import collected_uses

PLUGIN_GROUP = "newel.plugins"
DISTRIBUTION_GROUP = "newel.distributions"
#: What the names of a runtime's groups begin with. The others hold plugins that only some commands need.
_PREFIX = "newel."


class InstalledPoint(NamedTuple):
    """An entry point that is installed: its name, where it points, and the distribution that brought it."""

    name: str
    target: str
    distribution: str
    version: str
    #: The requirements of its package that are not met, in words: other packages, the version of the API.
    unmet: str = ""

    @property
    def source(self) -> str:
        """Distribution and version as one text."""
        return f"{self.distribution} {self.version}".strip()


#: The installed entry points of each of our groups.
Points = Mapping[str, Collection[InstalledPoint]]
#: The packages' folders, in the order of the path, and the times, size and inode of each file that a scan reads.
_State = list[str | tuple[int, int, int, int]]
#: The groups that a scan was asked for -> the files' state then, and its result.
_scans: dict[tuple[str, ...], tuple[_State, Points]] = {}
#: File systems stamp a file by a clock that ticks every few milliseconds (FAT: two seconds), so a second change within
#: a tick leaves no trace. A file that changed less than this many nanoseconds ago is read again by each scan.
_SETTLED = 3_000_000_000


def scan(groups: Sequence[str] = ()) -> Points:
    """The entry points that are installed now, in our groups and in the named ones.

    The files are read again only after one of them, or the path, has changed: each Runner scans, and reading the
    files of 170 packages takes four times as long as looking at their times.
    """
    packages = list(distributions())
    state = _state(packages)
    last_state, points = _scans.get(tuple(groups), (None, None))
    if points is None or state is None or state != last_state:
        points = _read(packages, groups)
        if state is not None:
            _scans[tuple(groups)] = state, points
    return points


def _state(packages: Iterable[Distribution]) -> _State | None:
    """The state of the files that a scan reads; None if it could change unseen, so that they are to be read."""
    settled = time.time_ns() - _SETTLED
    state: _State = []
    for package in packages:
        folder = getattr(package, "_path", None)  # what importlib's own finder gives has one
        if not isinstance(folder, Path):
            return None
        state.append(str(folder))
        for name in ("entry_points.txt", "METADATA", "PKG-INFO"):
            try:
                file = os.stat(f"{folder}/{name}")
            except OSError:
                if name == "entry_points.txt":  # of a package without entry points nothing else is read
                    break
                continue
            if max(file.st_mtime_ns, file.st_ctime_ns) > settled:
                return None
            state.append((file.st_mtime_ns, file.st_ctime_ns, file.st_size, file.st_ino))
    return state


def _read(packages: Iterable[Distribution], groups: Sequence[str]) -> Points:
    by_group: dict[str, set[InstalledPoint]] = {group: set() for group in (PLUGIN_GROUP, DISTRIBUTION_GROUP, *groups)}
    marks = [f"[{_PREFIX}", *(f"[{group}]" for group in groups)]
    for package in packages:
        text = package_files.read(package, "entry_points.txt")
        if not any(mark in text for mark in marks):
            continue
        first = _first(package)
        names = package_files.identity(first)
        entries = package_files.entries(first, package_files.read(first, "entry_points.txt"))
        unmet = _unmet(first, names[0], entries) if names[0] != OWN_PACKAGE else ""
        for group, name, target in entries:
            if group in by_group or group.startswith(_PREFIX):
                by_group.setdefault(group, set()).add(InstalledPoint(name, target, *names, plain(unmet, 600)))
    return by_group


def _unmet(package: Distribution, name: str, entries: Iterable[package_files.Entry]) -> str:
    """What the package needs and does not have, in words: a version of the API, other packages."""
    api = unmet_api((entry.name for entry in entries if entry.group == API_GROUP), name)
    return "; ".join(filter(None, (api, *unmet_requirements(package_files.headers(package), _version_of))))


def _first(package: Distribution) -> Distribution:
    """Of the packages of one name on the path the one that counts: the first.

    Of those that are called as this one it is the one that this module came with, wherever it is on the path; if that
    is not known, the first that ships distributions. Another one takes nobody's place, and is reported.
    """
    name = package_files.identity(package)[0]
    named = list(distributions(name=name))
    if name != OWN_PACKAGE:
        return next(iter(named), package)
    own = [one for one in named if package_files.is_own(one)] or [one for one in named if _ships_distributions(one)]
    if not own:
        return package
    if not package_files.is_same(package, own[0]):
        where = str(getattr(package, "_path", "a package in an archive"))
        package_files.report(where, f"it is called {OWN_PACKAGE}, and is another package")
    return own[0]


def _ships_distributions(package: Distribution) -> bool:
    return f"[{DISTRIBUTION_GROUP}]" in package_files.read(package, "entry_points.txt")


def sorted_points(points: Points | None, group: str) -> list[InstalledPoint]:
    """The entry points of a group, by name."""
    return sorted((points or scan())[group], key=attrgetter("name", "target", "distribution", "version"))


def _version_of(name: str) -> str | None:
    """The version of an installed package; None if there is no package of that name."""
    package = next(iter(distributions(name=name)), None)
    return package_files.identity(package)[1] if package is not None else None


def installed_points(group: str = PLUGIN_GROUP) -> list[InstalledPoint]:
    """Every installed entry point of a group, sorted by name. Damaged metadata of other packages stops it never."""
    return sorted_points(scan([group]), group)


def installed(points: Points | None = None, group: str = PLUGIN_GROUP) -> dict[str, InstalledPoint]:
    """Every installed plugin of a group by name, sorted.

    Of two of one name the one counts whose package ships distributions, else the first; `clashes` names the others.
    """
    points = points if points is not None else scan([group])
    plugins: dict[str, InstalledPoint] = {}
    for point in _by_rank(points, group):
        plugins.setdefault(point.name, point)
    return dict(sorted(plugins.items()))


def installed_anywhere(points: Points) -> list[str]:
    """The names of the installed plugins of all groups that count.

    Of the groups of our prefix those count in which a package that ships distributions has plugins, too; of others
    nobody knows what asks for them.
    """
    shipping = _shipping(points)
    return [
        name
        for group, plugins in points.items()
        if group == PLUGIN_GROUP or not group.startswith(_PREFIX) or any(p.distribution in shipping for p in plugins)
        if group != DISTRIBUTION_GROUP
        for name in installed(points, group)
    ]


def _shipping(points: Points) -> set[str]:
    """The packages that ship distributions."""
    return {point.distribution for point in points.get(DISTRIBUTION_GROUP, ())}


def clashes(points: Points, group: str = PLUGIN_GROUP) -> Iterator[tuple[InstalledPoint, InstalledPoint]]:
    """The plugins whose name another package's plugin has, each with that one."""
    plugins = installed(points, group)
    for point in sorted_points(points, group):
        if plugins[point.name] != point:
            yield point, plugins[point.name]


def _by_rank(points: Points, group: str) -> list[InstalledPoint]:
    shipping = _shipping(points)
    return sorted(sorted_points(points, group), key=lambda point: point.distribution not in shipping)


#: Plugin -> the deprecated names of newel that its import uses, as sentences without a subject.
deprecated_uses: dict[str, tuple[str, ...]] = {}
#: Plugin -> the seconds that its first import in this process took, with what it imports first.
import_seconds: dict[str, float] = {}


class _Guarded(EntryPoint):
    """An entry point whose failure is always an Exception that stevedore hands to the failure callback."""

    def load(self) -> object:
        """The object it points to."""
        begun = time.perf_counter()
        try:
            return super().load()
        except BaseException as error:
            if is_interrupt(error) or (isinstance(error, Exception) and not isinstance(error, AssertionError)):
                raise
            # stevedore lets these through
            raise ImportError(error_text(error)) from error
        finally:
            import_seconds.setdefault(self.name, time.perf_counter() - begun)


class _Strange(_Guarded):
    """One of another package, which must not take from the program what it stands on."""

    #: The plugin and its package, for messages.
    who = ""

    def load(self) -> object:
        """The object it points to."""
        with undisturbed(self.who, "is imported"), collected_uses() as uses:
            loaded = super().load()
        if uses:  # a module that is imported again, in a further composition, uses nothing any more
            deprecated_uses[self.name] = tuple(uses)
        return loaded


class UnmetRequirementError(ImportError):
    """A package needs another one, another release of it, or another API; its plugins are not imported."""


class FreshManager(NamedExtensionManager):  # type: ignore[type-arg] # older releases are not generic
    """Stevedore without its disk cache, which hides a plugin installed in the last two minutes."""

    def __init__(
        self,
        points: Points,
        group: str,
        names: Sequence[str],
        failed: Callable[[object, EntryPoint, BaseException], None],
        missing: Callable[[Iterable[str]], None],
    ) -> None:
        self._points = points
        super().__init__(
            group,
            names=names,
            name_order=True,
            on_load_failure_callback=failed,
            on_missing_entrypoints_callback=missing,
        )

    def list_entry_points(self) -> list[EntryPoint]:
        """The entry points of the group, as the scan found them."""
        return [_loadable(point, self.namespace) for point in installed(self._points, self.namespace).values()]


def _loadable(point: InstalledPoint, group: str) -> EntryPoint:
    if point.distribution == OWN_PACKAGE:
        return _Guarded(point.name, point.target, group)
    strange = _Strange(point.name, point.target, group)
    vars(strange).update(who=f"the plugin {point.name!r} ({point.source})")
    return strange


def load(
    names: Sequence[str], points: Points | None = None, group: str = PLUGIN_GROUP
) -> tuple[dict[str, object], dict[str, BaseException]]:
    """Import the named plugins of a group: what loaded, and what failed with its error."""
    points = points or scan([group])
    plugins = installed(points, group)
    failures: dict[str, BaseException] = {
        name: UnmetRequirementError(f"{plugins[name].source} {plugins[name].unmet}")
        for name in names
        if name in plugins and plugins[name].unmet
    }

    def note_failure(_: object, point: EntryPoint, error: BaseException) -> None:
        failures[point.name] = error

    def note_missing(missing: Iterable[str]) -> None:
        # Stevedore counts those that failed as missing, too; their own error says more.
        for name in missing:
            failures.setdefault(name, LookupError("no installed distribution provides it"))

    manager = FreshManager(points, group, [name for name in names if name not in failures], note_failure, note_missing)
    return {extension.name: extension.plugin for extension in manager}, failures


def unknown_plugins(
    names: Iterable[str], plugins: Mapping[str, InstalledPoint], source: str, points: Points
) -> list[str]:
    """Problems: the plugins that a distribution names and that are not installed."""
    elsewhere = installed_anywhere(points)
    return [
        f"{source} names the plugin {name!r} under `plugins`, which takes part by itself if it is needed; leave it out"
        if name in elsewhere
        else f"{source} names the plugin {name!r}, which is not installed{did_you_mean(name, plugins)}"
        for name in names
        if name not in plugins
    ]


def load_errors(plugins: Sequence[InstalledPoint], failures: Mapping[str, BaseException]) -> PluginLoadError:
    """The error of the plugins that a distribution needs and that do not load, a line for each."""
    remedy = "reinstall it, or list it under `disable:` in the distribution"
    lines = [
        f"the plugin {one.name!r} ({one.source}, {one.target}) failed to load: {describe_error(failures[one.name])}; "
        f"{remedy}"
        for one in plugins
    ]
    failure = PluginLoadError("\n".join(lines))
    failure.__cause__ = failures[plugins[0].name]
    return failure
