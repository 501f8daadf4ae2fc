"""The allow-list of code: what a dotted name in an app's files may reach.

A name may reach only what is defined in a module of the app's own folder, or of the project that the folder is in.
Any other name is refused before anything is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from newel.files.projects import import_name, is_own, is_top_level, names_in, project_of, top_folder
from newel_compose import describe_error
from newel_kernel import ConfigurationError, did_you_mean

_DOTTED = re.compile(r"\.?[^\W\d_]\w*(\.[^\W\d_]\w*)+")
_INIT = "__init__.py"


class AppCode:
    """The Python modules of an app's folder.

    sys.path does not change. The folder is a package under the name by which Python finds it, else under a
    unique name: two apps of one name never see each other's modules.
    """

    def __init__(self, folder: Path, project: Path | None = None) -> None:
        self.folder = folder.resolve()
        self.project = project or project_of(self.folder)
        self._package: str | None = None

    def find(self, name: str) -> object:
        """What ``module.attribute`` means in this app; a ConfigurationError says why it may not be used."""
        owner, module, attributes = self.check(name)
        return owner._attribute(owner.module(*module), attributes, name)

    def check(self, name: str) -> tuple[AppCode, tuple[str, ...], tuple[str, ...]]:
        """The folder with the module of a name, the module, and the attributes named in it; nothing is imported.

        A leading dot is allowed, for the app's own folder.
        """
        if not _DOTTED.fullmatch(name):
            raise ConfigurationError(
                f"{name!r} is not a name of the form module.function (without leading underscores)"
            )
        parts = tuple(name.removeprefix(".").split("."))
        for owner, inner in self._owners(parts, name.startswith(".")):
            path = owner._locate(inner)
            if path is not None:
                return (owner, *path)
        names = [*names_in(self.folder), *names_in(self.project)]
        close = did_you_mean(parts[0], names)
        raise ConfigurationError(
            f"{name!r} is not allowed here: it is not a module of the app's folder {self.folder.name!r}, nor of its "
            f"project{close}; define it in a file there (a function `f` in tools.py is tools.f), or install a plugin "
            f"that has it"
        )

    def _owners(self, parts: tuple[str, ...], relative: bool) -> Iterator[tuple[AppCode, tuple[str, ...]]]:
        """The folders in which a name may be, each with the name as it is there."""
        yield self, parts
        if relative or self.project == self.folder:
            return
        top = top_folder(parts[0], self.project)
        if top is not None and len(parts) > 1:
            yield AppCode(top, self.project), parts[1:]
        yield AppCode(self.project, self.project), parts

    def module(self, *parts: str) -> ModuleType:
        """A module of the folder, imported; without parts the folder's own package."""
        file = self._file(parts)
        for depth in range(len(parts) + 1):
            self._check_inside(self.folder.joinpath(*parts[:depth], _INIT))
        try:
            module = importlib.import_module(".".join(parts if self._is_top(parts) else (self._root(), *parts)))
            imported = _file_of(module)
            if file is None or imported is None or imported.resolve() == file.resolve():
                return module
            self._package = self._own_name()  # Python has another module by that name
            return importlib.import_module(".".join((self._package, *parts)))
        except ConfigurationError:
            raise
        except (Exception, SystemExit) as error:
            name = ".".join(parts) or self.folder.name
            raise ConfigurationError(
                f"the module {name!r} ({file or self.folder}) cannot be imported: "
                f"{describe_error(error)}{self._sibling_hint(error)}"
            ) from error

    def _is_top(self, parts: tuple[str, ...]) -> bool:
        """Whether Python knows a module by its bare name: the program imported it so, or it is at the project's top.

        Otherwise a folder's modules belong to a package, so that they can import each other with ``from . import``.
        """
        if not parts or (file := self._file(parts[:1])) is None:
            return False
        return is_top_level(parts[0], file, imported=self.folder != self.project)

    def _sibling_hint(self, error: BaseException) -> str:
        """The hint for ``import helpers`` or ``import weather.helpers``, which would need the folder on sys.path."""
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
            self._package = import_name(self.folder, self.project) or self._own_name()
        return self._package

    def _own_name(self) -> str:
        """A unique name, under which the folder is a package from now on."""
        plain = self.folder.name
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:10]
        name = f"{re.sub(r'[^0-9A-Za-z]', '_', plain) or 'app'}_{digest}"
        if name not in sys.modules:
            _make_package(name, self.folder)
        return name

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

    def _is_own(self, home: str) -> bool:
        """Whether a module belongs to the folder, or to the project."""
        root = self._root()
        if home == root or home.startswith(f"{root}."):
            return True
        file = _file_of(sys.modules.get(home))
        return file is not None and is_own(file, self.project)

    def _check_own(self, value: object, attribute: str, module: ModuleType, name: str) -> None:
        """Refuse what a module merely imports, unless it exports it: ``from os import system`` is not a tool."""
        if inspect.ismodule(value):
            raise ConfigurationError(f"{name!r} is not allowed: {attribute!r} is a module; name something in it")
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            return
        home = getattr(value, "__module__", None) or ""
        if not self._is_own(home) and attribute not in getattr(module, "__all__", ()):
            raise ConfigurationError(
                f"{name!r} is not allowed: {attribute!r} comes from {home or 'elsewhere'!r}, not from the app; "
                f"wrap it in a function of your own, or list it in the module's __all__"
            )


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file else None


def _make_package(name: str, folder: Path) -> None:
    """Put the folder into sys.modules as a package; its __init__ runs, if it has one."""
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
