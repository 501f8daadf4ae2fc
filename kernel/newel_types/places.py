"""Places in the user's files, for errors: found when one is raised, so that what works pays nothing."""

from __future__ import annotations

import ast
import os
import re
import sys
import sysconfig
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType

#: The packages whose lines are passed over, with those that say ``__tracebackhide__ = True``.
_HIDDEN = {"pydantic", "pydantic_core", *sys.stdlib_module_names}
#: A larger file was not written by hand.
_MOST_BYTES = 2_000_000
#: What stands before the name in a call that gives it. To parse a file that has none would take most of the time.
_NAMED = rb"name\s*=\s*[(\s]*[A-Za-z]{0,2}[\"']{1,3}"


def _values(module: object) -> dict[str, object]:
    """What a module holds. Only of plain modules: another object may import, or raise, as it is read."""
    return vars(module) if type(module) is ModuleType else {}


def _is_hidden(name: str) -> bool:
    package = name.partition(".")[0]
    return package in _HIDDEN or bool(_values(sys.modules.get(package)).get("__tracebackhide__"))


def caller_place() -> str:
    """`` (desk.py:12)``: the innermost line of the user's files that is being run; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None and not _is_the_users(frame.f_code.co_filename, _module_of(frame.f_globals)):
        frame = frame.f_back  # type: ignore[assignment]
    return f" ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})" if frame is not None else ""


def _module_of(values: dict[str, object]) -> str:
    """The name of a module; of one that runs as a program, that of its package."""
    return str(values.get("__package__") or values.get("__name__", ""))


def made_at(name: str, *kinds: str) -> str:
    """`` (desk.py:12)``: the only line of the user's modules that calls one of `kinds` with this name; else empty."""
    try:
        files = {file for module in [*sys.modules.values()] if (file := _users_file(module))}
        found = {place for file in files for place in _calls(file, _changed(file), name, kinds)}
    except Exception:  # noqa: BLE001 - an error is about to be raised: no other may take its place
        return ""
    return f" ({found.pop()})" if len(found) == 1 else ""


def _users_file(module: object) -> str:
    """The file of a module that the user wrote; empty for any other."""
    values = _values(module)
    file, name = values.get("__file__"), values.get("__name__")
    is_source = isinstance(file, str) and isinstance(name, str) and file.endswith(".py")
    return str(file) if is_source and _is_the_users(str(file), str(name)) else ""


def _changed(file: str) -> float:
    return os.path.getmtime(file) if os.path.isfile(file) else 0


@lru_cache(1000)  # a server may raise the same error at each request
def _calls(file: str, changed: float, name: str, kinds: tuple[str, ...]) -> frozenset[str]:
    try:
        source = Path(file).read_bytes()
        is_it = len(source) <= _MOST_BYTES and re.search(_NAMED + re.escape(name.encode()), source)
        nodes = ast.walk(ast.parse(source)) if is_it else iter(())
    except (OSError, ValueError, SyntaxError):
        return frozenset()
    calls = (one for one in nodes if isinstance(one, ast.Call))
    found = (one for one in calls if _last_name(one.func) in kinds and name in _names_given(one))
    return frozenset(f"{Path(file).name}:{one.lineno}" for one in found)


@cache
def _installed() -> tuple[str, ...]:
    """The folders of Python, of what is installed, and of the programs that start it."""
    return tuple(f"{sysconfig.get_path(one)}{os.sep}" for one in ("stdlib", "purelib", "platlib", "scripts"))


def _is_the_users(file: str, module: str) -> bool:
    is_installed = file.startswith(_installed()) or "site-packages" in file or "dist-packages" in file
    return not is_installed and not _is_hidden(module)


def _last_name(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node  # Agent[Deps, Out](...)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names_given(call: ast.Call) -> list[object]:
    return [one.value.value for one in call.keywords if one.arg == "name" and isinstance(one.value, ast.Constant)]
