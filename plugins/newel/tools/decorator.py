"""The decorator ``@tool``, which makes a tool of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, overload

from newel import tools
from newel_kernel import Effect

Function: TypeAlias = Callable[..., object]


@overload
def tool(function: Function) -> tools.FunctionTool: ...


@overload
def tool(
    *, require_confirmation: bool | Callable[..., object] = False, effect: Effect | str | None = None
) -> Callable[[Function], tools.FunctionTool]: ...


def tool(
    function: Function | None = None,
    *,
    require_confirmation: bool | Callable[..., object] = False,
    effect: Effect | str | None = None,
) -> tools.FunctionTool | Callable[[Function], tools.FunctionTool]:
    """Make a FunctionTool of a function; as ``@tool`` or ``@tool(require_confirmation=True)``."""

    def decorate(function: Function) -> tools.FunctionTool:
        return tools.FunctionTool(function, require_confirmation=require_confirmation, effect=effect)

    return decorate if function is None else decorate(function)
