"""Annotations: what those of a function mean, also where their names stand in a function around it."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import functools
import inspect
import logging
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ForwardRef, get_args
from weakref import WeakKeyDictionary

from newel_kernel import ConfigurationError, ReadonlyContext

logger = logging.getLogger(__name__)

EMPTY = inspect.Parameter.empty
#: The parameters that get the context if they have no annotation.
CONTEXT_NAMES = ("ctx", "tool_context")
#: The meaning of names in annotations that are imported for type checkers only.
_USUAL = {**vars(typing), **vars(collections.abc)} | dict.fromkeys(
    ("Context", "ToolContext", "CallbackContext", "ReadonlyContext"), ReadonlyContext
)
_LOCALS = ".<locals>."
#: Names in annotations of functions that were made in a function, noted while that one still ran: it alone knows them.
_noted: WeakKeyDictionary[types.FunctionType, dict[str, Any]] = WeakKeyDictionary()


def note_locals(function: object) -> None:
    """Note what the names in `function`'s annotations mean, as long as the functions around it run.

    ``from __future__ import annotations`` leaves texts: a type of a factory that only they name is in no closure, and
    is lost when the factory returns. So whoever takes a function calls this at once.
    """
    if not callable(function) or isinstance(function, type):
        return
    owner = owner_of(function)
    if not isinstance(owner, types.FunctionType) or _LOCALS not in owner.__qualname__ or owner in _noted:
        return
    missing = _names(owner) - owner.__globals__.keys() - vars(builtins).keys() - closure_of(owner).keys()
    found: dict[str, Any] = {}
    frame = sys._getframe(1) if missing else None
    while frame is not None and missing:
        if (
            owner.__qualname__.startswith(f"{frame.f_code.co_qualname}{_LOCALS}")
            and frame.f_globals is owner.__globals__
        ):
            found |= {name: frame.f_locals[name] for name in missing if name in frame.f_locals}
            missing -= found.keys()
        frame = frame.f_back
    if found:
        _noted[owner] = found


def _names(owner: types.FunctionType) -> set[str]:
    """The names in the annotations that are texts, also in texts within them."""
    names: set[str] = set()
    texts = list(_texts(owner.__annotations__.values()))
    while texts:
        try:
            nodes = list(ast.walk(ast.parse(texts.pop(), mode="eval")))
        except SyntaxError:
            continue  # it is reported where it is read, or is a text of a Literal
        names |= {node.id for node in nodes if isinstance(node, ast.Name)}
        texts += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return names


def _texts(hints: collections.abc.Iterable[object]) -> Iterator[str]:
    for hint in hints:
        if isinstance(hint, (str, ForwardRef)):
            yield hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
        else:
            yield from _texts(get_args(hint))


def hints_of(function: Callable[..., object], signature: inspect.Signature, whole: bool) -> dict[str, Any]:
    """Each parameter's annotation as a type, and the result's as ``return``; Any if there is none, or none is known.

    `whole` keeps the metadata of annotations. A name that is unknown is logged, with the parameter that it is for.
    """
    owner = owner_of(function)
    local: dict[str, Any] | None = None
    hints: dict[str, Any] = {}
    given = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    for name, annotation in {**given, "return": signature.return_annotation}.items():
        hint = Any if annotation is EMPTY else annotation
        if not isinstance(hint, type) or isinstance(hint, types.GenericAlias):
            if local is None:
                local = closure_of(owner)
            hint, unknown = _resolved(hint, getattr(owner, "__globals__", {}), local, whole)
            if unknown is not None and name not in (*CONTEXT_NAMES, "return"):
                _report(owner, name, annotation, unknown)
        hints[name] = hint
    return hints


def _report(owner: Any, name: str, annotation: object, unknown: str) -> None:
    logger.warning(
        "%s.%s: the parameter %r is annotated with %r, but %r is not known where the function is defined, so any value "
        "is accepted and nothing is made of it; define or import it at the top of the module",
        getattr(owner, "__module__", "?"),
        getattr(owner, "__qualname__", type(owner).__qualname__),
        name,
        str(annotation),
        unknown,
    )


def without_partial(function: Callable[..., object]) -> Callable[..., object]:
    """The function of a ``functools.partial``; any other function itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def owner_of(function: Any) -> Any:
    """The function in whose module the annotations were written."""
    function = without_partial(function)
    if isinstance(function, type):
        function = vars(function).get("__new__") or getattr(function, "__init__")  # noqa: B009 - of the class itself
    elif not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        function = type(function).__call__
    function = inspect.unwrap(function)
    return getattr(without_partial(function), "__func__", function)


def closure_of(owner: Any) -> dict[str, Any]:
    """The names of a function that are not global: those of the functions around it, and type parameters."""
    names = dict(_noted.get(owner, {})) if isinstance(owner, types.FunctionType) else {}
    names |= {parameter.__name__: parameter for parameter in getattr(owner, "__type_params__", ())}
    code, cells = getattr(owner, "__code__", None), getattr(owner, "__closure__", None) or ()
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return names


def _resolved(hint: Any, names: Mapping[str, Any], local: dict[str, Any], whole: bool) -> tuple[Any, str | None]:
    """The type, and the name in it that is unknown, if any."""
    holder, unknown = types.SimpleNamespace(__annotations__={"hint": hint}), None
    for scope in (names, {**_USUAL, **names}):
        try:
            return typing.get_type_hints(holder, dict(scope), local, include_extras=whole)["hint"], None
        except NameError as error:
            unknown = error.name  # an annotation that exists for type checkers only
        except Exception as error:
            raise ConfigurationError(f"the annotation {hint!r} cannot be read: {error}") from error
    return Any, unknown


def is_context(hint: Any) -> bool:
    """Whether a parameter with this annotation takes the context."""
    options = get_args(hint) or (hint,)
    return any(isinstance(option, type) and issubclass(option, ReadonlyContext) for option in options)
