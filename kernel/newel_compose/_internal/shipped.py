"""Shipped distributions: the files that installed packages bring, found by entry point."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from newel_compose._internal.discovery import DISTRIBUTION_GROUP, InstalledPoint, Points, sorted_points
from newel_compose._internal.faults import describe_error
from newel_compose._internal.package_files import OWN_PACKAGE
from newel_compose._internal.surroundings import undisturbed
from newel_kernel import is_interrupt

_log = logging.getLogger("newel.plugins")
#: The entry points of distributions that were reported.
_unreadable: set[InstalledPoint] = set()


def distribution_files(points: Points | None = None) -> dict[str, Path]:
    """The distributions that installed packages ship: name -> file.

    A name that newel ships means its file, and one that two others ship means none: each file that is left out is
    told once, and stops only those who ask for it.
    """
    files: dict[str, dict[Path, InstalledPoint]] = {}
    for point in sorted(sorted_points(points, DISTRIBUTION_GROUP), key=lambda point: point.distribution != OWN_PACKAGE):
        for file in _files(point):
            files.setdefault(point.name, {}).setdefault(file, point)
    meant = {name: _meant(shipped) for name, shipped in files.items()}
    return {name: file for name, file in meant.items() if file is not None}


def _meant(shipped: Mapping[Path, InstalledPoint]) -> Path | None:
    """The file of several that a name means; None if it is not clear."""
    (file, first), *others = shipped.items()
    is_clear = not others or first.distribution == OWN_PACKAGE
    for _, point in others if is_clear else shipped.items():
        other = first if point is not first else others[0][1]
        _report(point, f"{other.source} has one of that name, too; uninstall")
    return file if is_clear else None


def _files(point: InstalledPoint) -> list[Path]:
    try:
        who = f"the distribution {point.name!r} ({point.source})"
        with undisturbed(who, "is imported") if point.distribution != OWN_PACKAGE else nullcontext():
            spec = find_spec(point.target)
    except BaseException as error:
        if is_interrupt(error):
            raise
        where = point.target or "its empty target"
        _report(point, f"{where} could not be imported: {describe_error(error)}; reinstall or uninstall")
        spec = None
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return [file for folder in folders if (file := Path(folder) / f"{point.name}.yaml").is_file()]


def _report(point: InstalledPoint, why: str) -> None:
    """Log once per process that a distribution is left out; `why` ends with what to do to its package."""
    if point not in _unreadable:
        _unreadable.add(point)
        text = "newel: the distribution %r (%s) is left out: %s %s"
        _log.warning(text, point.name, point.source, why, point.distribution)
