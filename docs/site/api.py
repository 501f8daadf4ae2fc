"""The pages of the reference that describe every public name, one for each package."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import newel
from newel.cli.plugin_settings import comments_of

#: The packages beneath newel come first: names of theirs that newel offers are described there.
BASE_PACKAGES = ("newel_kernel", "newel_compose", "newel_types")
FOLDER = "reference/api"


class Name(NamedTuple):
    """A public name: the package that offers it, where it is defined, and the name it has there."""

    package: str
    name: str
    module: str
    attribute: str

    @property
    def place(self) -> tuple[str, str]:
        """Where the object is defined, which is the same for all its names."""
        return self.module, self.attribute

    @property
    def anchor(self) -> str:
        """Its identifier on the page of its package."""
        return f"{self.package}.{self.name}"

    @property
    def value(self) -> Any:
        """The object of this name."""
        return getattr(import_module(self.package), self.name)


@cache
def packages() -> dict[str, tuple[Name, ...]]:
    """Package -> its public names, in the order in which they are described; only packages that have some."""
    rooms = sorted(m.name for m in pkgutil.walk_packages(newel.__path__, "newel.") if _is_public(m.name, m.ispkg))
    by_package = {name: tuple(_names(import_module(name))) for name in (*BASE_PACKAGES, *rooms, "newel")}
    return {name: names for name, names in by_package.items() if names}


def _is_public(name: str, is_package: bool) -> bool:
    """Whether it is a package, or a package's `kinds`: other modules are internal, or mirror those of google.adk."""
    return (is_package or name.endswith(".kinds")) and "._" not in name


def offered(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, those that it loads on first use, or those that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    if "__getattr__" in vars(module):
        return sorted(module.__dir__())
    return sorted(
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    )


def _names(module: ModuleType) -> Iterator[Name]:
    for name in offered(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            yield Name(module.__name__, name, value.__name__, "")
            continue
        defined = getattr(value, "__module__", None)
        attribute = getattr(value, "__qualname__", name)
        if not isinstance(defined, str) or not _defines(defined, attribute):
            defined, attribute = _exported_from(module, name)
        yield Name(module.__name__, name, defined, attribute)


def _exported_from(module: ModuleType, name: str) -> tuple[str, str]:
    """Where the module says that a name is defined, for objects that do not say so themselves."""
    places = {**getattr(module, "_WHERE", {}), **getattr(module, "_PLACES", {})}
    place, _, attribute = places.get(name, module.__name__).partition(":")
    attribute = attribute or name
    if not _defines(place, attribute) and place in (*BASE_PACKAGES,) and place != module.__name__:
        return _exported_from(import_module(place), name)
    return place, attribute


@cache
def _source(module: str) -> str:
    spec = find_spec(module)
    return Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""


def _defines(module: str, attribute: str) -> bool:
    """Whether the source of one of newel's modules defines that name."""
    if not module.startswith("newel"):
        return False
    return (
        re.search(
            rf"^(?:(?:class|def|async def|type) {attribute}\b|{attribute}\s*(?::[^=\n]*)?=)", _source(module), re.M
        )
        is not None
    )


def pages() -> dict[str, str]:
    """Path of a page -> its text."""
    canonical: dict[tuple[str, str], Name] = {}
    for names in packages().values():
        for name in names:
            canonical.setdefault(name.place, name)
    by_path = {f"{FOLDER}/{package}.md": _page(package, names, canonical) for package, names in packages().items()}
    return {f"{FOLDER}/index.md": _index(), **by_path}


def _index() -> str:
    rows = [
        f"| [{package}]({package}.md) | {first_paragraph(inspect.getdoc(import_module(package)) or '')} |"
        for package in sorted(packages())
    ]
    modules = [f"| `{name}` | {', '.join(f'`{one}`' for one in names)} |" for name, names in mirrors().items()]
    return (
        "\n\n".join(
            [
                "# API",
                "Import a name from the package that offers it. Names that start with an underscore, and "
                "modules that no page "
                "here lists, may change at any time.",
                "\n".join(["| package | |", "|---|---|", *rows]),
                "## Modules under the names of google-adk",
                "Code that moves over may import from these, too. They offer what the packages do, and a "
                "few older names.",
                "\n".join(["| module | names |", "|---|---|", *modules]),
            ]
        )
        + "\n"
    )


@cache
def mirrors() -> dict[str, list[str]]:
    """Module of newel that has an `__all__` -> the names in it."""
    names = [m.name for m in pkgutil.walk_packages(newel.__path__, "newel.") if not m.ispkg and "._" not in m.name]
    return {name: sorted(import_module(name).__all__) for name in names if re.search("^__all__", _source(name), re.M)}


def _page(package: str, names: tuple[Name, ...], canonical: dict[tuple[str, str], Name]) -> str:
    own = [name for name in names if canonical[name.place] == name]
    parts = [
        f"# {package}",
        inspect.getdoc(import_module(package)) or "",
        "\n".join(["| name | what it is |", "|---|---|", *(_row(name, canonical[name.place]) for name in names)]),
        *(_described(name) for name in own if name.attribute),
    ]
    return "\n\n".join(parts) + "\n"


def _row(name: Name, canonical: Name) -> str:
    link = f"{canonical.package}.md#{canonical.anchor}" if canonical.package != name.package else f"#{canonical.anchor}"
    code = f"`{name.name}`"
    return f"| {f'[{code}]({link})' if name.attribute else code} | {first_line(name)} |"


def first_line(name: Name) -> str:
    """The first paragraph of the object's docstring, for a table's cell; empty for a value without one of its own."""
    value = name.value
    if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, ModuleType)):
        return ""
    return first_paragraph((vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)) or "")


def first_paragraph(text: str) -> str:
    """The first paragraph on one line, fit for a table."""
    return cell(" ".join(text.split("\n\n")[0].split()))


def cell(text: str) -> str:
    """The text for a cell of a table: a bar does not end it. Code is left as it is."""
    return re.sub(r"(`[^`]*`)|\|", lambda match: match[1] or r"\|", text)


def _described(name: Name) -> str:
    # The fields are enough for the records of newel_types; their members would take a third of the build's time.
    options = {"members": False} if name.package == "newel_types" else {}
    path = f"{name.module}.{name.attribute}"
    return f'<span id="{name.anchor}"></span>\n\n{documentation_of(path, name.name, name.value, **options)}'


def documentation_of(path: str, heading: str, value: object, **options: object) -> str:
    """The docstring and the members of what stands at `path`; a record's fields are a table of their own."""
    all_options: dict[str, object] = {"heading": heading, "toc_label": heading, **options}
    if names := _defaults(value):
        all_options["filters"] = ["!^_", "!^model_config$", f"!^({'|'.join(names)})$"]
    lines = [f"::: {path}", "    options:", *(f"      {key}: {json.dumps(one)}" for key, one in all_options.items())]
    return "\n\n".join(filter(None, ["\n".join(lines), _fields(value)]))


def _defaults(value: object) -> dict[str, object]:
    """The fields of a record with their defaults, inherited ones included; empty for anything else."""
    if inspect.isclass(value) and issubclass(value, BaseModel):
        return {name: field.get_default() for name, field in value.model_fields.items()}
    if inspect.isclass(value) and is_dataclass(value):
        return {field.name: field.default for field in fields(value) if not field.name.startswith("_")}
    return {}


def _fields(value: Any) -> str:
    if not (names := _defaults(value)):
        return ""
    comments = comments_of(value)
    annotations = {name: text for kind in reversed(value.__mro__) for name, text in _annotations(kind).items()}
    rows = [
        (
            f"`{name}`",
            f"`{annotations.get(name, 'Any')}`".replace("|", r"\|"),
            _default(default),
            comments.get(name, ""),
        )
        for name, default in names.items()
    ]
    lines = ["| field | type | default | |", "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines)


def _annotations(kind: type) -> dict[str, str]:
    """The annotations of a class as its file writes them."""
    return {name: text for name, text in vars(kind).get("__annotations__", {}).items() if isinstance(text, str)}


def _default(value: object) -> str:
    if value is PydanticUndefined or value is MISSING:
        return ""
    return f"`{value!r}`" if isinstance(value, (str, int, float, bool, type(None), tuple)) and value != () else ""
