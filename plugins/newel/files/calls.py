"""Calls that agent files ask for: what ``{name, args}`` makes of a class or a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from newel.files.references import CodeConfig

_REQUIRED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def check_call(function: Callable[..., object], config: CodeConfig) -> None:
    """Raise a TypeError if `function` cannot be called with the arguments of `config`."""
    signature = _signature(function)
    if signature is not None:
        signature.bind(*config.positional, **config.keywords)


def apply(function: Callable[..., object], config: CodeConfig) -> object:
    """The value that a name with arguments stands for.

    If the arguments complete the call, it is made, and its result is the value (a class, a factory). If a function
    needs more, they are bound, and the model or the hook gives the rest.
    """
    signature = None if inspect.isclass(function) else _signature(function)
    if signature is None:
        return function(*config.positional, **config.keywords)
    bound = signature.bind_partial(*config.positional, **config.keywords).arguments
    unbound = [parameter for name, parameter in signature.parameters.items() if name not in bound]
    if all(one.default is not one.empty or one.kind not in _REQUIRED for one in unbound):
        return function(*config.positional, **config.keywords)
    return _bound(function, config, signature.replace(parameters=unbound))


def _bound(function: Callable[..., Any], config: CodeConfig, signature: inspect.Signature) -> Callable[..., Any]:
    """`function` with the arguments of `config`, which its signature does not show: they may be secrets."""
    call: Callable[..., Any]
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call(*args: object, **keywords: object) -> Any:
            return await function(*config.positional, *args, **config.keywords, **keywords)

    else:

        @functools.wraps(function)
        def call(*args: object, **keywords: object) -> Any:
            return function(*config.positional, *args, **config.keywords, **keywords)

    call.__signature__ = signature  # type: ignore[attr-defined]
    if not hasattr(function, "__name__"):  # an object that can be called
        call.__name__ = config.name.rpartition(".")[2]
    return call


def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
