"""Binding: a function as an implementation of a lifecycle hook, called by the hook's keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from newel_compose._internal.faults import defined_at
from newel_kernel import LIFECYCLE, Bound, Callbacks, HookSignatureError


def bind(function: Callable[..., Any], names: tuple[str, ...], hook: str, owner: str) -> Callable[..., Any]:
    """`function` as a callable that takes exactly the keywords `names`.

    A function with parameters of these names (or some of them) is called by keyword; one with as many positional
    parameters of other names is called by position. Any other function raises HookSignatureError.
    """
    kinds = inspect.Parameter
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function
    if any(p.kind is kinds.VAR_KEYWORD for p in parameters):
        return function
    single = [p for p in parameters if p.kind is not kinds.VAR_POSITIONAL]
    keywords = [p.name for p in single if p.name in names and p.kind is not kinds.POSITIONAL_ONLY]
    if all(p.name in keywords or p.default is not kinds.empty for p in single):
        if set(keywords) == set(names):
            return function
        if keywords or not single:
            return lambda **values: function(**{name: values[name] for name in keywords})
    positional = [p for p in single if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is kinds.empty]
    keyword_only = [p for p in single if p.kind is kinds.KEYWORD_ONLY and p.default is kinds.empty]
    if not keyword_only and len(required) <= len(names) <= len(positional):
        return lambda **values: function(*(values[name] for name in names))
    raise HookSignatureError(
        f"{owner}: {hook} {_name(function)}{inspect.signature(function)} cannot be called; "
        f"it must take ({', '.join(names)})"
    )


def as_callbacks(hook: str, value: Any, owner: str) -> Callbacks:
    """An agent's callback field (one callable or a list of them) as a tuple."""
    names = LIFECYCLE[hook].agent_keywords or ()
    functions = value if isinstance(value, list) else [value]
    for function in functions:
        if not callable(function):
            raise HookSignatureError(f"{owner}: {hook} must be a callable or a list of them, not {function!r}")
    return tuple(
        Bound(hook, bind(f, names, hook, owner), f"{owner}, callback {_name(f)}{defined_at(f)}") for f in functions
    )


def _name(function: object) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
