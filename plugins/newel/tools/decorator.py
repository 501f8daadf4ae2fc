"""The decorator ``@tool``, which makes a tool of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from pydantic import ValidationError

from newel import tools
from newel.tools.confirmation import Needed
from newel.tools.refinement import Refinement, refined
from newel_kernel import ConfigurationError, Effect, did_you_mean

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")


class Options(TypedDict, total=False):
    """What ``@tool(...)`` takes."""

    name: str
    #: Whether the user is asked before each call; or a function of its arguments that says so.
    require_confirmation: Needed
    #: Seconds that a call may take; 0: no limit.
    timeout: float
    #: What repeating a call may do: ``pure``, ``idempotent`` (the default) or ``at_most_once``.
    effect: Effect | str


class Decorator(Protocol):
    """What ``@tool(...)`` gives."""

    def __call__(self, function: Callable[P, R], /) -> tools.FunctionTool[P, R]:
        """The tool of a function."""


@overload
def tool(function: Callable[P, R]) -> tools.FunctionTool[P, R]: ...


@overload
def tool(**options: Unpack[Options]) -> Decorator: ...


def tool(function: Callable[P, R] | None = None, **options: Unpack[Options]) -> tools.FunctionTool[P, R] | Decorator:
    """Make a FunctionTool of a function; as ``@tool``, or with options as ``@tool(require_confirmation=True)``.

    The tool can be called as the function.

    Raises ConfigurationError for an option that does not exist or has an invalid value.
    """
    refinement = _refinement(options)

    def decorate(function: Callable[Q, T]) -> tools.FunctionTool[Q, T]:
        return refined(tools.FunctionTool(function), refinement)

    return decorate if function is None else decorate(function)


def _refinement(options: Options) -> Refinement:
    try:
        return Refinement.model_validate(options)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        names = sorted(Refinement.model_fields)
        raise ConfigurationError(f"@tool has no option {name!r}{did_you_mean(name, names)} ({', '.join(names)})")
    raise ConfigurationError(f"@tool({name}={problem['input']!r}): {problem['msg'].removeprefix('Value error, ')}")
