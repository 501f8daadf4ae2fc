"""Code that a file may name: functions of the agent's own folder or of installed plugins, nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import newel_compose
from newel.evaluation.plugins import GROUP
from newel_kernel import ConfigurationError


def load_function(path: str, folder: str | Path | None = None) -> Any:
    """The function ``package.module.name``.

    Its module must be in `folder` (an agent's; by default the current one), next to it, or in a package that provides
    plugins. Otherwise it is refused before anything is imported. ImportError if the import fails.
    """
    module, _, name = path.rpartition(".")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        raise ConfigurationError(f"{path!r} is not a name of the form module.function")
    _check_allowed(module, Path(folder) if folder is not None else Path.cwd())
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError as error:
        raise ImportError(f"the module {module!r} has no function {name!r}") from error


def _check_allowed(module: str, folder: Path) -> None:
    top = module.partition(".")[0]
    roots = [folder.resolve(), folder.resolve().parent]
    for root in roots:
        if str(root) not in sys.path and ((root / top).is_dir() or (root / f"{top}.py").is_file()):
            sys.path.append(str(root))
    if top in _plugin_packages():
        return
    spec = importlib.util.find_spec(top)
    if spec is None:
        raise ImportError(f"there is no module {top!r}; it must be in {roots[0]} or {roots[1]}")
    places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location and spec.origin else [])]
    if not any(_within(Path(place).resolve(), roots) for place in places):
        raise ConfigurationError(
            f"the module {module!r} is not allowed here: it is neither in {roots[0]} nor next to it, and no plugin "
            f"package provides it"
        )


def _within(place: Path, roots: Sequence[Path]) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def _plugin_packages() -> set[str]:
    return set(_top_names())


def _top_names() -> Iterator[str]:
    for group in (newel_compose.PLUGIN_GROUP, GROUP):
        for point in newel_compose.installed_points(group):
            yield point.target.partition(":")[0].partition(".")[0].strip()
