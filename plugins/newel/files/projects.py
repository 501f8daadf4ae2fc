"""Projects: the folder of the user's own code around an agent file, and the names under which Python knows it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

_MARKS = ("pyproject.toml", "setup.cfg", ".git")
_INSTALLED = ("site-packages", "dist-packages")


def project_of(folder: Path) -> Path:
    """The project that a folder is in.

    That is the nearest folder upwards with pyproject.toml, setup.cfg or .git, else the working directory if the
    folder is in it, else the folder itself.
    """
    for above in (folder, *folder.parents):
        if any((above / mark).exists() for mark in _MARKS):
            return above
    here = Path.cwd().resolve()
    return here if folder.is_relative_to(here) else folder


def is_own(file: Path, project: Path) -> bool:
    """Whether a file is the project's own, and not part of an environment inside the project."""
    real = file.resolve()
    if not real.is_relative_to(project):
        return False
    parts = real.relative_to(project).parts
    return not any(part in _INSTALLED or part.startswith(".") for part in parts)


def import_name(folder: Path, project: Path) -> str | None:
    """The dotted name by which Python finds a folder of the project as a package, without importing anything.

    The longest of several names: a module imports its neighbours by the whole name.
    """
    packages = [one for one in (folder, *folder.parents) if one.is_relative_to(project)]
    for top in reversed(packages):
        parts = (top.name, *folder.relative_to(top).parts)
        if all(part.isidentifier() for part in parts) and _is_found(top.name, top):
            return ".".join(parts)
    return None


def top_folder(name: str, project: Path) -> Path | None:
    """The folder of the project that Python finds under a top-level name, or None."""
    for place in _locations(name):
        if place.is_dir() and is_own(place, project):
            return place.resolve()
    return None


def is_top_level(name: str, file: Path, *, imported: bool) -> bool:
    """Whether Python finds a module's or package's own file under its bare name; with `imported`, only if imported."""
    module = sys.modules.get(name)
    if module is None and imported:
        return False
    if module is not None:
        origin = getattr(module, "__file__", None)
    else:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            return False
        origin = spec.origin if spec is not None else None
    return bool(origin) and Path(str(origin)).resolve() == file.resolve()


def names_in(folder: Path) -> Iterator[str]:
    """The modules and packages in a folder."""
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.suffix == ".py" and entry.stem.isidentifier():
            yield entry.stem
        elif entry.is_dir() and entry.name.isidentifier() and any(entry.glob("*.py")):
            yield entry.name


def importable(folder: Path) -> None:
    """Let Python find the folder's modules by the whole name of their package, and the other modules of the project.

    Each path goes to the end of sys.path, where it hides nothing.
    """
    real = folder.resolve()
    project = project_of(real)
    top = real
    while top != project and (top.parent / "__init__.py").is_file():
        top = top.parent
    for path in (top.parent, *([project] if project != real else [])):
        if str(path) not in sys.path:
            sys.path.append(str(path))


def _is_found(name: str, folder: Path) -> bool:
    places = list(_locations(name))
    return bool(places) and [place.resolve() for place in places] == [folder]


def _locations(name: str) -> Iterable[Path]:
    """Where Python finds a top-level package, imported or not."""
    module = sys.modules.get(name)
    if module is not None:
        return [Path(one) for one in getattr(module, "__path__", None) or ()]
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(one) for one in (spec.submodule_search_locations or ())] if spec is not None else []
