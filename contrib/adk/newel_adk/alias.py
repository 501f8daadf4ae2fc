"""Alias: a package that was written for google-adk imports newel under the names of `google.adk`.

``import newel_adk.alias`` before the package is imported. Each `google.adk.X` is the module `newel.X` itself, so its
classes are the same. google-genai's own modules stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from newel_kernel import ConfigurationError

NAME = "google.adk"
_OURS = "newel"


class _Ours(Loader):
    """Gives a module of newel in the place of one of google-adk's."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of newel, which goes on to say so itself: importing it by its own name finds the same."""
        self._module = importlib.import_module(self._name)
        self._spec = self._module.__spec__
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """It has been run; only what an import has written into it is taken back."""
        module.__spec__ = self._spec
        module.__loader__ = self._spec.loader if self._spec is not None else None
        module.__package__ = self._spec.parent if self._spec is not None else None


class _Finder(MetaPathFinder):
    """Finds modules of google-adk in newel."""

    #: Known by that, also to a second copy of this module, such as in a sandbox.
    finds = NAME

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None for others, and for what newel does not have."""
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        ours = _OURS + fullname.removeprefix(NAME)
        found = importlib.util.find_spec(ours)
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _Ours(ours), origin=found.origin, is_package=is_package)


def install() -> None:
    """Let `google.adk` be newel in this process; a ConfigurationError if google-adk itself is imported or installed."""
    if any(getattr(finder, "finds", None) == NAME for finder in sys.meta_path):
        return
    google = _namespace()
    if NAME in sys.modules or importlib.util.find_spec(NAME) is not None:
        raise ConfigurationError(
            f"{NAME} is google-adk itself here: uninstall google-adk, or use a virtual environment without it"
        )
    sys.meta_path.insert(0, _Finder())
    google.adk = importlib.import_module(NAME)  # type: ignore[attr-defined]


def _namespace() -> ModuleType:
    """The namespace `google`, also where nothing else of Google's is installed."""
    try:
        return importlib.import_module("google")
    except ModuleNotFoundError:
        made = ModuleType("google")
        made.__path__ = []
        sys.modules["google"] = made
        return made


install()
