"""Instructions of agents: a text, or a function that provides one."""

from __future__ import annotations

import inspect

import newel_compose


def instruction_problem(instruction: object) -> str | None:
    """Why `instruction` is not a valid instruction, or None if it is one."""
    if instruction is None or isinstance(instruction, str):
        return None
    if not callable(instruction):
        return f"{instruction!r} is neither a text nor a function that returns one"
    try:
        signature = inspect.signature(instruction)
    except (TypeError, ValueError):
        return None  # a function defined in C
    try:
        signature.bind("context")
    except TypeError:
        name = getattr(instruction, "__qualname__", type(instruction).__qualname__)
        place = newel_compose.defined_at(instruction)
        return f"{name}{place} must take one argument, the context, but takes {signature}"
    return None
