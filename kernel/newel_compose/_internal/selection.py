"""Selection: the distribution that an argument, the environment or the working directory names."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

from newel_compose._internal.discovery import Points
from newel_compose._internal.distribution import Distribution, read_distribution
from newel_compose._internal.lock import LOCK_FILE
from newel_compose._internal.shipped import distribution_files
from newel_kernel import ConfigurationError

DEFAULT = "standard"


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
