"""The signature of a function tool: what a model fills in, what the runtime adds, and how the function is called."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo

from newel.tools.annotations import CONTEXT_NAMES, EMPTY, hints_of, is_context, without_partial
from newel.tools.typed_dicts import fields_of, portable
from newel_kernel import ConfigurationError

STREAM_NAME = "input_stream"
_RESERVED = frozenset((*CONTEXT_NAMES, STREAM_NAME, "self", "cls"))
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a model fills in."""

    hint: Any
    #: EMPTY if there is none.
    default: Any
    mandatory: bool
    #: Makes the value if the model gives none and the default is a pydantic Field instead of a value.
    fill: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The signature of a function: the parameters that a model fills, and the one that gets the context."""

    parameters: Mapping[str, Parameter]
    context_name: str | None
    is_async: bool
    #: The annotation of further keywords; None if the function takes none.
    further: Any
    #: Names that no further keyword may have: a model must not reach what the runtime fills in.
    reserved: frozenset[str]
    #: The signature, if some parameters cannot be passed by name; else None.
    signature: inspect.Signature | None

    @property
    def mandatory(self) -> list[str]:
        """The parameters without a default."""
        return [name for name, parameter in self.parameters.items() if parameter.mandatory]


class Call:
    """Calls a function by the names of its parameters, including those that Python passes by position only."""

    def __init__(self, function: Callable[..., object], signature: inspect.Signature) -> None:
        self.function = function
        self.signature = signature

    def __call__(self, /, **values: Any) -> object:
        """The function's result; `*args` are a list under their name."""
        binding = self.signature.bind_partial()
        further = {name: value for name, value in values.items() if name not in self.signature.parameters}
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                binding.arguments[name] = further
            elif name in values:
                is_list = parameter.kind is parameter.VAR_POSITIONAL
                binding.arguments[name] = tuple(values[name]) if is_list else values[name]
        binding.apply_defaults()
        return self.function(*binding.args, **binding.kwargs)


def shape_of(function: Callable[..., object], *, whole: bool = False) -> Shape:
    """Read a function's signature; its context parameter is found by annotation, or by the names for it.

    `whole`: all of it that a model can fill, including `*args`, `**kwargs` and the metadata of annotations.
    """
    try:
        signature = inspect.signature(function)
    except ValueError as error:
        raise ConfigurationError(
            f"{function!r} cannot be a tool: Python cannot tell its signature; write a function that calls it"
        ) from error
    _refuse_unbound(function, signature)
    hints = {name: portable(hint) for name, hint in hints_of(function, signature, whole).items()}
    context = _context(signature, hints)
    parameters: dict[str, Parameter] = {}
    further = None
    for name, parameter in signature.parameters.items():
        if name in (context, STREAM_NAME):
            continue
        if parameter.kind not in _VARIADIC:
            parameters[name] = _parameter(hints[name], parameter.default)
        elif whole and parameter.kind is parameter.VAR_POSITIONAL:
            parameters[name] = Parameter(_list_of(hints[name]), EMPTY, mandatory=False)
        elif whole and (keywords := fields_of(hints[name])) is not None:
            parameters |= {key: Parameter(hint, EMPTY, needed) for key, (hint, needed) in keywords.items()}
        elif whole:
            further = hints[name]
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    by_name = kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    reserved = (_RESERVED | signature.parameters.keys()) - parameters.keys()
    return Shape(parameters, context, _is_async(function), further, reserved, None if by_name else signature)


def _refuse_unbound(function: Callable[..., object], signature: inspect.Signature) -> None:
    """Raise if the first parameter is an object's own: no model can give it."""
    first = next(iter(signature.parameters), None)
    if first in ("self", "cls") and signature.parameters[first].annotation is EMPTY:
        name = getattr(function, "__qualname__", repr(function))
        raise ConfigurationError(
            f"{name} cannot be a tool: its first parameter is {first!r}, so it is a method without its object; give "
            f"that of an instance, as in MyClass().{getattr(function, '__name__', 'method')}"
        )


def _context(signature: inspect.Signature, hints: Mapping[str, Any]) -> str | None:
    """The parameter that gets the context: by its annotation, or by a name for it that nothing else is said of."""
    for name in signature.parameters:
        if is_context(hints[name]):
            return name
    if "tool_context" in signature.parameters:
        return "tool_context"
    return next((name for name in CONTEXT_NAMES if name in signature.parameters and hints[name] is Any), None)


def _is_async(function: Callable[..., object]) -> bool:
    inner = without_partial(function)
    call = getattr(inner, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(call)


def _parameter(hint: Any, default: Any) -> Parameter:
    if not isinstance(default, FieldInfo):
        return Parameter(hint, default, mandatory=default is EMPTY)
    words = Field(
        description=default.description,
        examples=default.examples,
        discriminator=default.discriminator,
        json_schema_extra=default.json_schema_extra,
    )
    hint = Annotated[(hint, words, *default.metadata)]
    if default.is_required():
        return Parameter(hint, EMPTY, mandatory=True)

    def fill() -> object:
        return default.get_default(call_default_factory=True, validated_data={})

    return Parameter(hint, fill(), mandatory=False, fill=fill)


def _list_of(hint: Any) -> Any:
    """The annotation of ``*args`` as that of a list."""
    if get_origin(hint) is typing.Unpack:
        hint = get_args(hint)[0]
        return hint if get_origin(hint) is tuple else list[Any]
    if getattr(hint, "__unpacked__", False):  # *args: *tuple[int, str]
        return types.GenericAlias(tuple, get_args(hint))
    item: Any = Any if isinstance(hint, typing.ParamSpecArgs) else hint
    return types.GenericAlias(list, (item,))
