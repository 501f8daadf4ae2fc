"""Preemption: lets other threads of the simulation run between any two statements of some modules, as a system does.

Their functions get code that pauses before each statement, made from their source.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PAUSE = "__pause__"
_CodeKey = tuple[str, int]


@contextmanager
def preempted(modules: tuple[ModuleType, ...], pause: Callable[[], object]) -> Iterator[None]:
    """Within it, `pause` is called before each statement of the modules' functions."""
    before: list[tuple[Any, CodeType]] = []
    try:
        for module in modules:
            codes = _pausing(module)
            module.__dict__[_PAUSE] = pause
            for function in _functions(module):
                code = function.__code__
                if (key := (code.co_qualname, code.co_firstlineno)) in codes:
                    before.append((function, code))
                    function.__code__ = codes[key]
        yield
    finally:
        for function, code in before:
            function.__code__ = code
        for module in modules:
            module.__dict__.pop(_PAUSE, None)


def _pausing(module: ModuleType) -> dict[_CodeKey, CodeType]:
    """The code of a module's functions, which pauses before each statement."""
    tree = ast.parse(inspect.getsource(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _pause_within(node)
    code = compile(ast.fix_missing_locations(tree), inspect.getfile(module), "exec", dont_inherit=True)
    return dict(_codes(code))


def _pause_within(node: ast.AST) -> None:
    for name in ("body", "orelse", "finalbody", "handlers"):
        statements = getattr(node, name, [])
        if not isinstance(statements, list):  # a lambda, or an expression's branches
            continue
        for statement in statements:
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                _pause_within(statement)
        if name != "handlers":
            setattr(node, name, [one for statement in statements for one in (_pause_before(statement), statement)])


def _pause_before(statement: ast.stmt) -> ast.stmt:
    call = ast.Call(func=ast.Name(id=_PAUSE, ctx=ast.Load()), args=[], keywords=[])
    return ast.copy_location(ast.Expr(value=call), statement)


def _codes(code: CodeType) -> Iterator[tuple[_CodeKey, CodeType]]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield (one.co_qualname, one.co_firstlineno), one
            yield from _codes(one)


def _functions(module: ModuleType) -> Iterator[Any]:
    """The functions and methods that a module defines."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if isinstance(function, FunctionType):
                yield function
