"""Requirements: what a package says that it needs, against what is installed.

In doubt a requirement is met: those with a marker (an extra, an environment), and versions that are not numbers with
dots, are the installer's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import eq, ge, gt, le, lt, ne
from typing import Any

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^@()]*)\)?")
_CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+)*)(\.\*)?")
_RELEASE = re.compile(r"\d+(?:\.\d+)*(?![\d.!])")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
Release = tuple[int, ...]


def unmet(headers: Iterable[str], version_of: Callable[[str], str | None]) -> Iterator[str]:
    """The lines of a package's metadata that name a requirement which is not met, as sentences without a subject."""
    for line in headers:
        key, _, value = line.partition(":")
        if key.lower() != "requires-dist" or ";" in value or not (match := _REQUIREMENT.fullmatch(value.strip())):
            continue
        name, condition = match[1], match[2].strip()
        installed = version_of(name)
        remedy = f"pip install '{name}{condition}'"
        if installed is None:
            yield f"needs {name}{condition}, which is not installed; {remedy}"
        elif not fits(installed, condition):
            yield f"needs {name}{condition}, but {installed} is installed; {remedy}"


def fits(installed: str, condition: str) -> bool:
    """Whether a release meets every clause of a condition such as ``>=1.2,<2``; only numbers are compared."""
    if (match := _RELEASE.match(installed)) is None:
        return True
    have = _numbers(match[0])
    return all(
        _holds(have, clause[1], clause[2], clause[3] or "") for one in condition.split(",") if (clause := _clause(one))
    )


def _clause(text: str) -> re.Match[str] | None:
    return _CLAUSE.fullmatch(text.strip())


def _numbers(release: str) -> Release:
    return tuple(map(int, release.split(".")))


def _holds(have: Release, operator: str, release: str, wildcard: str) -> bool:
    bound = _numbers(release)
    if wildcard:
        same = _padded(have, len(bound))[: len(bound)] == bound
        return same if operator == "==" else not same if operator == "!=" else True
    width = max(len(have), len(bound))
    left, right = _padded(have, width), _padded(bound, width)
    if operator == "~=":
        return left >= right and left[: len(bound) - 1] == bound[:-1]
    return _COMPARISONS[operator](left, right)


def _padded(release: Release, width: int) -> Release:
    return release + (0,) * (width - len(release))
