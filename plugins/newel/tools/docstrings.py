"""Docstrings: what a function says about itself and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType

import docstring_parser
from docstring_parser import Docstring, ParseError

from newel.tools.annotations import without_partial


def document(function: Callable[..., object]) -> str:
    """The whole docstring of a function, of the function of a partial, or of a class or its ``__call__``."""
    function = without_partial(function)
    text = getattr(function, "__doc__", None)
    if not text and not inspect.isroutine(function):
        own = getattr(function, "__init__" if isinstance(function, type) else "__call__", None)
        text = own.__doc__ if isinstance(getattr(own, "__func__", own), FunctionType) else None  # else it is Python's
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def split_document(text: str) -> tuple[str, dict[str, str]]:
    """A docstring as its prose and its parameters' descriptions."""
    try:
        parsed = docstring_parser.parse(text)
    except ParseError:
        return text, {}
    described = {p.arg_name.lstrip("*"): p.description for p in parsed.params if p.description}
    if not described:
        return text, {}
    return "\n\n".join(_prose(parsed)), described


def _prose(parsed: Docstring) -> Iterator[str]:
    yield from filter(None, (parsed.short_description, parsed.long_description))
    for many in parsed.many_returns:
        if many.description:
            yield f"{'Yields' if many.is_generator else 'Returns'}: {many.description}"
    for one in parsed.raises:
        if one.description:
            yield f"Raises {one.type_name}: {one.description}" if one.type_name else f"Raises: {one.description}"
    for example in parsed.examples:
        if text := "\n".join(filter(None, (example.snippet, example.description))):
            yield f"Example:\n{text}"
