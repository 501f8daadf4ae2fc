"""What each release had, and that nothing of it goes before its deprecation has lasted (docs/plugins/api.md).

``python tests/releases.py 2026-12-01`` records the public surface of the version in pyproject.toml as that of a
release of that day, in released/VERSION.txt. A record is never edited.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
RECORDS = Path(__file__).with_name("released")
#: How long a deprecated name stays: further releases that have it, and days.
RELEASES, DAYS = 2, 183
_HEAD = re.compile(r"# newel (\S+), (\d{4}-\d\d-\d\d)\n")
_MARK = re.compile(r"since newel (\S+), gone in API (\d+)\.0; use .")
_FORM = "'since newel 0.4.0, gone in API 2.0; use newel_kernel.Event'"


class Release(NamedTuple):
    """A release: its version, its day, and the lines of its surface."""

    version: str
    day: date
    lines: Sequence[str]

    @property
    def api(self) -> int:
        """The first number of the API's version."""
        return next(int(line.split()[1]) for line in self.lines if line.startswith("API "))

    @property
    def marks(self) -> dict[str, str]:
        """What is deprecated, each with what its warning says."""
        lines = (line.removeprefix("deprecated ") for line in self.lines if line.startswith("deprecated "))
        return dict(line.split(": ", 1) for line in lines)

    @property
    def names(self) -> dict[str, str]:
        """What is public, without signatures: names, their members, hooks, kinds. Another name maps to the first."""
        return {name: first for line in self.lines for name, first in _names(line)}


def _names(line: str) -> Iterator[tuple[str, str]]:
    if line.startswith(("API ", "deprecated ")):
        return
    if line.startswith("module "):
        module, _, names = line.removeprefix("module ").partition(": ")
        yield from ((f"{module}.{name}", "") for name in names.split(", "))
        return
    name, _, first = line.partition(" = ")
    is_member = "(" in name or ":" in name  # its default follows the sign
    yield re.split(r"[(:,]", line if is_member else name, maxsplit=1)[0].strip(), "" if is_member else first


def releases() -> list[Release]:
    """Those that are recorded, the oldest first; of one day, in the order of their versions."""
    return sorted(map(_read, RECORDS.glob("*.txt")), key=lambda one: (one.day, Version(one.version)))


def _read(file: Path) -> Release:
    text = file.read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None or head[1] != file.stem:
        raise SystemExit(f"{file.name} begins with {text[:40]!r}, not with '# newel {file.stem}, YYYY-MM-DD'")
    return Release(head[1], date.fromisoformat(head[2]), text[head.end() :].splitlines())


def version() -> str:
    """The one that pyproject.toml has."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def problems(before: Sequence[Release], now: Release) -> Iterator[str]:
    """Each thing that is gone too early, and each deprecation that does not say, or not truly, since when."""
    yield from _wrong_marks(before, now)
    names, reported = now.names, set[str]()
    for name in sorted({name for release in before for name in release.names}):
        if not _is_here(name, names) and not any(_owners(name) & reported):
            reported.add(name)
            yield from _too_early(name, before, now)


def _owners(name: str) -> set[str]:
    """The name, and those of what it is a member of."""
    parts = name.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _is_here(name: str, names: Mapping[str, str]) -> bool:
    if name in names:
        return True
    owner, _, member = name.rpartition(".")
    return bool(names.get(owner)) and f"{names[owner]}.{member}" in names


def _too_early(name: str, before: Sequence[Release], now: Release) -> Iterator[str]:
    """Why a name that is gone had to stay."""
    having = [release for release in before if _is_here(name, release.names)]
    marked = []
    for release in reversed(having):
        if not _owners(name) & release.marks.keys():
            break
        marked.insert(0, release)
    if not marked:
        yield f"{name} is gone without a deprecation: newel {having[-1].version} has it; bring it back, deprecated"
        return
    first, further = marked[0], len(marked) - 1
    since = f"{name} is gone, but was deprecated in newel {first.version} of {first.day}, and"
    if further < RELEASES:
        yield f"{since} has to stay for {RELEASES} more releases; it stayed for {further}"
    if (days := (now.day - first.day).days) < DAYS:
        yield f"{since} has to stay for {DAYS} days; it stayed for {days}"
    if now.api <= first.api:
        yield f"{since} goes with the first number of the API; that is {now.api}, as it was"


def _wrong_marks(before: Sequence[Release], now: Release) -> Iterator[str]:
    for name, text in now.marks.items():
        found = _MARK.match(text)
        if found is None:
            yield f"the deprecation of {name} says {text!r}; write it like {_FORM}"
            continue
        first = next((release.version for release in before if name in release.marks), now.version)
        if found[1] != first:
            yield f"{name} says that it is deprecated since newel {found[1]}; it is since {first}"
        if int(found[2]) <= now.api:
            yield f"{name} says that it is gone in API {found[2]}.0, which is not later than {now.api}"


def record(day: str) -> None:
    """Write the surface of the version that is about to be released, unless something is gone too early."""
    from tests.surface import surface

    now = Release(version(), date.fromisoformat(day), surface())
    if found := list(problems(releases(), now)):
        raise SystemExit("\n".join(found))
    RECORDS.mkdir(exist_ok=True)
    text = "\n".join([f"# newel {now.version}, {now.day}", *now.lines]) + "\n"
    try:
        with (RECORDS / f"{now.version}.txt").open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        remedy = f"if {now.version} is not released yet, remove released/{now.version}.txt first"
        raise SystemExit(f"{now.version} is recorded already, and a record is never edited; {remedy}") from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"{Path(__file__).name} takes one argument, the day of the release")
    sys.path.insert(0, str(ROOT))
    record(sys.argv[1])
