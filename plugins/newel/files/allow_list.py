"""The allow-list of code: what a dotted name in an app's files may reach.

Only what is defined in a module of the app's own folder. A name outside is refused before anything is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from newel_compose import describe_error
from newel_kernel import ConfigurationError, did_you_mean

_DOTTED = re.compile(r"\.?[^\W\d_]\w*(\.[^\W\d_]\w*)+")
_INIT = "__init__.py"


class AppCode:
    """The Python modules of an app's folder.

    sys.path stays as it is. The folder is a package under its own name where Python finds it there anyway, else
    under one that no other folder has: two apps of one name never see each other's modules.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._package: str | None = None

    def find(self, name: str) -> object:
        """What ``module.attribute`` means in this app; a ConfigurationError says why it may not be used."""
        module, attributes = self.check(name)
        return self._attribute(self.module(*module), attributes, name)

    def check(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The module of the folder that a name is in, and what is named there; nothing is imported.

        A leading dot is allowed, for the app's own folder.
        """
        if not _DOTTED.fullmatch(name):
            raise ConfigurationError(f"{name!r} is no name of the form module.function (without leading underscores)")
        path = self._locate(tuple(name.removeprefix(".").split(".")))
        if path is None:
            raise ConfigurationError(
                f"{name!r} is not allowed here: it is no module of the app's folder {self.folder.name!r}; "
                f"define it in a file there (a function `f` in tools.py is tools.f), or install a plugin that has it"
            )
        return path

    def module(self, *parts: str) -> ModuleType:
        """A module of the folder, imported; without parts the folder's own package."""
        file = self._file(parts)
        for depth in range(len(parts) + 1):
            self._check_inside(self.folder.joinpath(*parts[:depth], _INIT))
        try:
            root = self._root()
            return importlib.import_module(".".join((root, *parts)))
        except ConfigurationError:
            raise
        except (Exception, SystemExit) as error:
            name = ".".join(parts) or self.folder.name
            raise ConfigurationError(
                f"the module {name!r} ({file or self.folder}) cannot be imported: "
                f"{describe_error(error)}{self._sibling_hint(error)}"
            ) from error

    def _sibling_hint(self, error: BaseException) -> str:
        """For ``import helpers`` or ``import weather.helpers``, which would need the folder on sys.path."""
        name = (error.name if isinstance(error, ModuleNotFoundError) else None) or ""
        absolute = name.partition(".")[0] == self.folder.name
        if not absolute and ("." in name or not name or not self.has(name)):
            return ""
        return f"; a module of the app's own folder is imported with `from . import {'...' if absolute else name}`"

    def has(self, *parts: str) -> bool:
        """Whether the folder has that module."""
        return self._file(parts) is not None

    def _locate(self, parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The module's parts and the attributes in it; the folder's own name may stand in front."""
        for rest in (parts, parts[1:]) if parts[0] == self.folder.name else (parts,):
            for length in range(len(rest) - 1, 0, -1):
                if self._file(rest[:length]) is not None:
                    return rest[:length], rest[length:]
        if parts[0] == self.folder.name and self._file(()) is not None:
            return (), parts[1:]
        return None

    def _file(self, parts: tuple[str, ...]) -> Path | None:
        base = self.folder.joinpath(*parts)
        for file in (base / _INIT, base.with_name(f"{base.name}.py")) if parts else (base / _INIT,):
            if file.is_file():
                self._check_inside(file)
                return file
        return None

    def _check_inside(self, file: Path) -> None:
        if not file.resolve().is_relative_to(self.folder):
            raise ConfigurationError(f"{file} is a link that leads out of the app's folder; copy the module into it")

    def _root(self) -> str:
        """The name of the folder's package, which is made on first use."""
        if self._package is None:
            importlib.invalidate_caches()  # a file written a moment ago must be seen
            self._package = self._own_name()
            if self._package not in sys.modules:
                _make_package(self._package, self.folder)
        return self._package

    def _own_name(self) -> str:
        plain = self.folder.name
        if plain.isidentifier() and self._is_ours(plain):
            return plain
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:10]
        return f"{re.sub(r'[^0-9A-Za-z]', '_', plain) or 'app'}_{digest}"

    def _is_ours(self, name: str) -> bool:
        """Whether Python finds this very folder under the top-level name."""
        module = sys.modules.get(name)
        if module is not None:
            return _is_folder(getattr(module, "__path__", None), self.folder)
        spec = find_spec(name)
        return spec is not None and _is_folder(spec.submodule_search_locations, self.folder)

    def _attribute(self, module: ModuleType, attributes: tuple[str, ...], name: str) -> object:
        value: object = module
        for index, attribute in enumerate(attributes):
            if index and not inspect.isclass(value):
                raise ConfigurationError(f"{name!r} is not allowed: name something that a module of the app defines")
            if not hasattr(value, attribute):
                public = [n for n in vars(value) if not n.startswith("_")]
                raise ConfigurationError(f"{name!r} does not exist{did_you_mean(attribute, public)}")
            value = getattr(value, attribute)
            self._check_own(value, attribute, module, name)
        return value

    def _check_own(self, value: object, attribute: str, module: ModuleType, name: str) -> None:
        """Refuse what a module merely imports, unless it exports it: ``from os import system`` is no tool."""
        if inspect.ismodule(value):
            raise ConfigurationError(f"{name!r} is not allowed: {attribute!r} is a module; name something in it")
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            return
        home = getattr(value, "__module__", None) or ""
        root = self._root()
        if home != root and not home.startswith(f"{root}.") and attribute not in getattr(module, "__all__", ()):
            raise ConfigurationError(
                f"{name!r} is not allowed: {attribute!r} comes from {home or 'elsewhere'!r}, not from the app; "
                f"wrap it in a function of your own, or list it in the module's __all__"
            )


def _is_folder(locations: Iterable[str] | None, folder: Path) -> bool:
    return locations is not None and [Path(p).resolve() for p in locations] == [folder]


def _make_package(name: str, folder: Path) -> None:
    """Put the folder into sys.modules as a package; its __init__ runs, where it has one."""
    init = folder / _INIT
    if init.is_file():
        spec = spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
        assert spec is not None
    else:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    module = module_from_spec(spec)
    sys.modules[name] = module
    if spec.loader is not None and init.is_file():
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
