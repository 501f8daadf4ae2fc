"""The former names of what the package newel-testkit holds: each is looked up there when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_PACKAGE = "newel_testkit"


class TestkitMissingError(ModuleNotFoundError):
    """The simulators are in a package that is not installed."""

    __test__ = False


def moved(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a former module, from `module` of newel-testkit: its names, and its modules as names.

    Nothing here imports that package before a name is asked for: newel stands below it.
    """
    target = f"{_PACKAGE}.{module}" if module else _PACKAGE

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        package = _imported(target, name)
        if hasattr(package, name):
            return getattr(package, name)
        if hasattr(package, "__path__") and find_spec(f"{target}.{name}") is not None:
            return import_module(f"{target}.{name}")
        raise AttributeError(f"module {target!r} has no attribute {name!r}")

    return get


def _imported(target: str, name: str) -> Any:
    try:
        import_module(_PACKAGE)
    except ModuleNotFoundError as missing:
        if missing.name != _PACKAGE:
            raise
        raise TestkitMissingError(
            f"{name} is in the package newel-testkit, as {target}.{name}: pip install newel-testkit", name=_PACKAGE
        ) from missing
    return import_module(target)
