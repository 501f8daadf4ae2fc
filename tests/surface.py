"""The public surface: names, signatures, hooks and kinds, a line each, as docs/plugins/api.md says what is public.

``python tests/surface.py "What changed, for whoever uses it"`` records it in surface.txt, and adds the line to the
section on the API in CHANGELOG.md. Signatures are read from the sources, so that they are the same on each Python.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("surface.txt")
CHANGELOG = ROOT / "CHANGELOG.md"
_HEAD = "# The last change: "
_SECTION = "### The plugin API\n\n"
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]

import api  # noqa: E402 - as the docs find it
import composed  # noqa: E402
import objects  # noqa: E402

from newel_kernel import API, LIFECYCLE, lifecycle_hookspecs  # noqa: E402
from newel_types import GENAI_NAMES, collected_uses  # noqa: E402
from newel_types.deprecation import deprecated_names  # noqa: E402
from tests import releases  # noqa: E402


@cache
def surface() -> list[str]:
    """The lines, sorted."""
    with collected_uses():  # what is deprecated is public
        return sorted([f"API {API.partition('.')[0]}", *_names(), *_hooks_and_kinds(), *_deprecations()])


def _names() -> list[str]:
    canonical: dict[tuple[str, str], str] = {}
    lines: list[str] = []
    for package, names in api.packages().items():
        for name in names:
            here = f"{package}.{name.name}"
            other = canonical.setdefault(name.place, here)
            if other != here:
                lines.append(f"{here} = {other}")
            elif package == "newel_types" and name.name in GENAI_NAMES:
                lines.append(f"{here}, as google-genai has it")
            else:
                lines += _described(here, name)
    return lines + [f"module {module}: {', '.join(names)}" for module, names in api.mirrors().items()]


def _hooks_and_kinds() -> Iterator[str]:
    yield from (f"hook {hook}({', '.join(spec.keywords)})" for hook, spec in LIFECYCLE.items())
    for one in composed.kinds():
        order = f", order={one.kind.order}" if one.kind.order else ""
        yield f"kind {one.name}: {one.kind.hook}({_keywords(one.kind.specification)}){order}"


def _deprecations() -> Iterator[str]:
    """What is deprecated, each with what its warning says."""
    marks: dict[str, Any] = dict(deprecated_names)
    marks |= {f"hook {hook}": _mark(getattr(lifecycle_hookspecs, hook)) for hook in LIFECYCLE}
    marks |= {f"kind {one.name}": _mark(one.kind.specification) for one in composed.kinds()}
    for package, names in api.packages().items():
        for name in names:
            here, value = f"{package}.{name.name}", name.value
            marks[here] = _mark(value) or marks.get(here)
            if inspect.isclass(value) and name.module.startswith("newel"):
                marks |= {f"{here}.{member}": _mark(one) for member, one in _own_attributes(value)}
    return (f"deprecated {name}: {text}" for name, text in marks.items() if isinstance(text, str))


def _own_attributes(value: type) -> Iterator[tuple[str, Any]]:
    for cls in reversed(value.__mro__):
        if cls.__module__.startswith("newel"):
            yield from ((name, one) for name, one in vars(cls).items() if not name.startswith("_"))


def _mark(value: Any) -> Any:
    """What `typing_extensions.deprecated` says of a class, a function, a method or a property."""
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
    return vars(function).get("__deprecated__") if hasattr(function, "__dict__") else None


def _keywords(function: Any) -> str:
    return ", ".join(inspect.signature(function).parameters)


def _described(here: str, name: api.Name) -> Iterator[str]:
    value = name.value
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"{here}: class({bases})"
        yield from (f"{here}.{member}" for member in sorted(_members(value)))
        return
    node = _node(name.module, name.attribute)
    yield f"{here}{_signature(node)}" if _is_function(node) else f"{here}: {type(value).__name__}"


def _members(value: type) -> Iterator[str]:
    """The public members of a class and of its bases that are newel's; the nearest counts."""
    seen: set[str] = set()
    for cls in value.__mro__:
        node = _node(cls.__module__, cls.__qualname__) if cls.__module__.startswith("newel") else None
        for member in getattr(node, "body", ()):
            named = _member(member)
            if named is not None and named[0] not in seen:
                seen.add(named[0])
                yield "".join(named)


def _member(node: ast.stmt) -> tuple[str, str] | None:
    """Name and signature of a public member; None for others."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        name, text = node.target.id, f": {ast.unparse(node.annotation)}{'' if node.value is None else ' = ...'}"
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, text = node.targets[0].id, " = ..."
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        name, text = node.name, _signature(node)
        if any("property" in ast.unparse(one) for one in node.decorator_list):
            text = f": {ast.unparse(node.returns) if node.returns is not None else 'Any'}"
    else:
        return None
    return (name, text) if not name.startswith("_") or name in ("__init__", "__call__") else None


def _is_function(node: Any) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _signature(node: Any) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"({ast.unparse(node.args)}){returns}"


def _node(module: str, attribute: str) -> ast.AST | None:
    """The definition of a name in a module."""
    node: ast.AST | None = _tree(module) if module.startswith("newel") else None
    for part in filter(None, attribute.split(".")):
        node = next(
            (one for one in getattr(node, "body", ()) if getattr(one, "name", None) == part),
            None,
        )
    return node


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(objects.source_of(module))


def recorded() -> tuple[str, list[str]]:
    """The line of the changelog about the last change, and the surface then."""
    head, *lines = RECORD.read_text(encoding="utf-8").splitlines()
    return head.removeprefix(_HEAD), lines


def record(line: str) -> None:
    """Record the surface, with a line in the changelog."""
    now = releases.Release(releases.version(), date.today(), surface())
    if found := list(releases.problems(releases.releases(), now)):
        raise SystemExit("\n".join(found))
    entry = f"- API {API}: {line}"
    text = CHANGELOG.read_text(encoding="utf-8")
    if _SECTION not in text:
        raise SystemExit(f"CHANGELOG.md has no section {_SECTION.strip()!r}")
    if entry not in text:
        CHANGELOG.write_text(text.replace(_SECTION, f"{_SECTION}{entry}\n", 1), encoding="utf-8")
    RECORD.write_text("\n".join([f"{_HEAD}{entry}", *surface()]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"{Path(__file__).name} takes one argument, the line for the changelog")
    record(sys.argv[1])
