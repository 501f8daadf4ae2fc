"""Plugins of pydantic: read before newel's first model is built, so that another package's damage stops nobody.

pydantic reads the entry points of all installed packages when a process builds its first model, and raises on metadata
that is not UTF-8 or has a line without ``=``. It reads them once: after a failure it goes on without plugins. So one
small validator is built first, and the failure is told in one line. `docs/explanation/decisions/0026` says what it
costs. Modules whose models are built first call it.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from pydantic import TypeAdapter

_log = logging.getLogger("newel.plugins")


@cache
def read_model_plugins() -> None:
    """Let pydantic read its plugins; if that fails, one line says so and what to do."""
    if endless := next(_endless(), ""):
        os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # reading it, pydantic would wait for ever
        text = "newel: plugins of pydantic are off in this process, because %s is not a file that ends; %s"
        _log.warning(text, endless, f"reinstall or uninstall {Path(endless).parent}")
    try:
        TypeAdapter(int)
    except Exception as error:  # noqa: BLE001 - code and metadata of other packages
        damaged = ", ".join(dict.fromkeys(_damaged()))
        remedy = f"reinstall or uninstall {damaged}" if damaged else "reinstall or uninstall that plugin"
        text = "newel: plugins of pydantic are off in this process, because reading them failed (%s: %s); %s"
        _log.warning(text, type(error).__name__, error, remedy)


def _endless() -> Iterator[str]:
    """The files of entry points whose reading does not end: pipes, devices."""
    for package in distributions():
        folder = getattr(package, "_path", None)
        with suppress(OSError):  # it is missing, or a folder that cannot be entered
            file = f"{folder}/entry_points.txt"
            if isinstance(folder, Path) and not stat.S_ISREG(mode := os.stat(file).st_mode) and not stat.S_ISDIR(mode):
                yield file


def _damaged() -> Iterator[str]:
    """The metadata folders of the packages whose entry points cannot be read."""
    for package in distributions():
        try:
            tuple(package.entry_points)
        except Exception:  # noqa: BLE001 - whatever is wrong with it
            folder = getattr(package, "_path", None)
            yield str(folder.resolve()) if isinstance(folder, Path) else "a package in an archive"
