"""The pages of the reference that describe every public name, one for each package."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import objects

import newel

#: The packages beneath newel come first: names of theirs that newel offers are described there.
BASE_PACKAGES = ("newel_kernel", "newel_compose", "newel_types")
#: Modules whose names are for authors of plugins, too: docs/plugins/helpers.md shows them.
HELPERS = (
    "newel.models.http_llm",
    "newel.models.remote",
    "newel.models.wire.answer",
    "newel.models.wire.service",
    "newel.models.wire.turns",
    "newel.models.wire.usage",
)
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
        # Two underscores would be emphasis within the attributes of a heading: the heading's own identifier serves.
        return self.name if self.name.startswith("__") else f"{self.package}.{self.name}"

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
    """Whether it is a package, a package's `kinds`, or a helper: others are internal, or mirror those of google.adk."""
    return (is_package or name.endswith(".kinds") or name in HELPERS) and "._" not in name


def offered(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, those that it loads on first use, or those that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    if "__dir__" in vars(module):  # the former name of a module, which has `__getattr__` alone, offers nothing itself
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
    places = {**vars(module).get("_WHERE", {}), **vars(module).get("_PLACES", {})}
    place, _, attribute = places.get(name, module.__name__).partition(":")
    attribute = attribute or name
    if not _defines(place, attribute) and place in (*BASE_PACKAGES,) and place != module.__name__:
        return _exported_from(import_module(place), name)
    return place, attribute


def _defines(module: str, attribute: str) -> bool:
    """Whether the source of one of newel's modules defines that name."""
    if not module.startswith("newel"):
        return False
    return (
        re.search(
            rf"^(?:(?:class|def|async def|type) {attribute}\b|{attribute}\s*(?::[^=\n]*)?=)",
            objects.source_of(module),
            re.M,
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
                "Import a name from the package that offers it. [What is public](../../plugins/api.md) says what "
                "may change, and when.",
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
    return {
        name: sorted(import_module(name).__all__)
        for name in names
        if re.search("^__all__", objects.source_of(name), re.M)
    }


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
    """The text for a cell of a table: a bar does not end it, in code neither."""
    return re.sub(
        r"`[^`]*\|[^`]*`|\|", lambda match: objects.code(match[0].strip("`")) if len(match[0]) > 1 else r"\|", text
    )


def _described(name: Name) -> str:
    anchor = "" if name.anchor == name.name else name.anchor
    return objects.described(name.value, name.name, anchor=anchor, source=name.place)
