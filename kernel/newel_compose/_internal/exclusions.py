"""Exclusions: installed plugins that cannot take part. Each is reported once; a strict distribution refuses them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from newel_compose._internal import discovery
from newel_compose._internal.distribution import Distribution, plugins_of
from newel_compose._internal.faults import debugging, faults_of
from newel_kernel import CompositionError, NewelError

_log = logging.getLogger("newel.plugins")
_reported: set[LeftOut] = set()
#: How reasons say themselves what to do.
_REMEDIES = ("uninstall", "pip install", "`replace:`", "`disable:`", "; mark them", "did you mean")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A plugin that takes no part, its package and version, and the reason."""

    name: str
    source: str
    why: str
    #: The error that the plugin raised.
    error: BaseException | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        package = self.source.partition(" ")[0]
        remedy = f"fix or uninstall {package}, or list it under `disable:`"
        is_said = any(word in self.why for word in _REMEDIES)
        return f"plugin {self.name!r} ({self.source}) is left out: {self.why}{'' if is_said else f'; {remedy}'}"


def culprits_of(error: NewelError, distribution: Distribution, loaded: Mapping[str, str]) -> list[LeftOut]:
    """The plugins that cause an error and that the distribution does not name.

    `loaded` are the installed plugins that take part, each with its source. A clash with a plugin that was given
    directly stays an error: its caller wants that plugin, and can read the error.
    """
    names = plugins_of(distribution)
    culprits: dict[str, LeftOut] = {}
    for fault in faults_of(error):
        if any(one not in loaded for one in fault.plugins):
            continue
        name = next((one for one in reversed(fault.plugins) if one in loaded and one not in names), None)
        if name is not None:
            culprits.setdefault(name, LeftOut(name, loaded[name], fault.why, error))
    return list(culprits.values())


def clashing(distribution: Distribution, points: discovery.Points) -> dict[str, LeftOut]:
    """The plugins whose name another package's plugin has too; a CompositionError if it is not clear which is meant.

    The keys are name and source, because the name alone means the plugin that takes part.
    """
    names = plugins_of(distribution)
    shipping = {point.distribution for point in points[discovery.DISTRIBUTION_GROUP]}
    left_out, problems = {}, []
    for point, other in discovery.clashes(points):
        if point.name in names and (other.distribution not in shipping or point.distribution in shipping):
            problems.append(
                f"the plugin {point.name!r} is installed twice, by {other.source} and by {point.source}; "
                f"uninstall one of them"
            )
        why = f"{other.source} also has a plugin of that name; uninstall one of them"
        left_out[f"{point.name} {point.source}"] = LeftOut(point.name, point.source, why)
    if problems:
        raise CompositionError(problems)
    return left_out


def refuse_strictly(distribution: Distribution, left_out: Iterable[LeftOut]) -> None:
    """Raise a CompositionError if plugins are left out of a strict distribution."""
    problems = [str(one) for one in left_out]
    if distribution.strict and problems:
        raise CompositionError([f"{one} (`strict: true`)" for one in problems])


def report(left_out: Iterable[LeftOut]) -> None:
    """Log one line for each plugin, once per process; if the program has no log handler, it goes to stderr.

    With NEWEL_DEBUG=1 the error's traceback follows.
    """
    for one in left_out:
        if one not in _reported:
            _reported.add(one)
            _log.warning("newel: %s", one, exc_info=one.error if debugging() else None)
