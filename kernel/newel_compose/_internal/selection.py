"""Selection of a distribution, and the lock that pins the names and versions of a composition."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TypedDict, cast

from pydantic import BaseModel, ValidationError

from newel_compose._internal.composition import Composition
from newel_compose._internal.discovery import Points, distribution_files
from newel_compose._internal.distribution import Distribution, read_distribution
from newel_kernel import ConfigurationError, LockError

DEFAULT = "standard"
LOCK_FILE = "newel.lock"


class Lock(TypedDict):
    """The content of a lock file."""

    distribution: str
    #: Each enabled plugin, with its `distribution` and `version`.
    plugins: dict[str, dict[str, str]]


class _LockFile(BaseModel, defer_build=True):
    """A lock file, for validation."""

    distribution: str
    plugins: dict[str, dict[str, str]]


def select_distribution(
    choice: str | Path | Distribution | None = None, points: Points | None = None
) -> tuple[Distribution, Path | None]:
    """The distribution named by `choice`, by NEWEL_DISTRIBUTION, by newel.yaml or [tool.newel], or `standard`.

    Returned with the lock file that binds it: the one in the working directory, if any; None for a `choice`.
    """
    if isinstance(choice, Distribution):
        return choice, None
    folders = distribution_files(points)
    if choice is not None:
        return read_distribution(choice, folders), None
    try:
        here = Path.cwd()
    except OSError:
        raise ConfigurationError("the working directory no longer exists; change to one that does") from None
    lock = here / LOCK_FILE
    name = os.environ.get("NEWEL_DISTRIBUTION") or _from_files(here) or DEFAULT
    return read_distribution(name, folders), lock if _exists(lock) else None


def _exists(path: Path) -> bool:
    """Whether `path` exists, even as a broken link: it was put there on purpose."""
    return path.exists() or path.is_symlink()


def _from_files(here: Path) -> str | None:
    if _exists(file := here / "newel.yaml"):
        if not file.is_file():
            what = "folder" if file.is_dir() else "link, which leads to no file," if file.is_symlink() else "thing"
            raise ConfigurationError(f"{file} is not a file, as a distribution must be; remove the {what} or rename it")
        return str(file)
    project = here / "pyproject.toml"
    if not project.is_file():
        return None
    table = _table(project)
    if table is None:
        return None
    name = table.get("distribution") if isinstance(table, dict) else None
    if not isinstance(name, str):
        raise ConfigurationError(f'{project}: [tool.newel] needs distribution = "a name or a YAML file"')
    return name if not name.endswith((".yaml", ".yml")) else str(here / name)


def _table(project: Path) -> object:
    """The table [tool.newel] of a pyproject.toml, or None. Most files do not contain the word, and are not parsed."""
    data = project.read_bytes()
    if b"newel" not in data:
        return None
    try:
        return import_module("tomllib").loads(data.decode()).get("tool", {}).get("newel")
    except ValueError:
        return None  # the file is broken; the tools that own it will say so


def lock_of(composition: Composition) -> Lock:
    """The lock that pins the plugins of `composition`."""
    return {
        "distribution": composition.distribution.name,
        "plugins": {
            record.name: {"distribution": record.distribution, "version": record.version}
            for record in composition.plugins
            if record.state == "enabled"
        },
    }


def write_lock(composition: Composition, path: Path) -> None:
    """Write the lock file of `composition`, whole or not at all."""
    text = json.dumps(lock_of(composition), indent=2, sort_keys=True) + "\n"
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}; remove it") from None


def check_lock(composition: Composition, path: Path) -> None:
    """Raise a LockError that lists every difference between `composition` and the lock file."""
    locked = _read_lock(path)
    expected = locked["plugins"]
    actual = lock_of(composition)
    problems = []
    if locked.get("distribution") != actual["distribution"]:
        problems.append(f"the distribution is {actual['distribution']!r}, locked: {locked.get('distribution')!r}")
    for name in sorted(expected.keys() | actual["plugins"].keys()):
        is_now, was = actual["plugins"].get(name), expected.get(name)
        if is_now != was:
            problems.append(f"plugin {name!r}: {_text(is_now)}, locked: {_text(was)}")
    if problems:
        raise LockError([*problems, f"install what {path} says, or run `newel lock` to accept the change"])


def _read_lock(path: Path) -> Lock:
    try:
        return cast("Lock", _LockFile.model_validate_json(path.read_bytes()).model_dump())
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"]))
        why = f"{where}: {problem['msg']}" if where else problem["msg"]
    except OSError as error:
        raise LockError(f"{path} cannot be read: {error.strerror or error}; remove it") from None
    raise LockError(f"{path} is not a lock file ({why}); write it again with `newel lock`")


def _text(entry: Mapping[str, str] | None) -> str:
    return "absent" if entry is None else f"{entry.get('distribution')} {entry.get('version')}"
