"""Misspelt fields: the error about a field that a record does not have names a similar field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from newel_kernel import did_you_mean

M = TypeVar("M", bound=BaseModel)


def with_suggestions(model: type[BaseModel], data: object, handler: Callable[[object], M]) -> M:
    """The model that `handler` makes; an error about an unknown field names a similar field.

    For a pydantic validator of the mode ``wrap``.
    """
    try:
        return handler(data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        if not any(_is_no_field(problem) for problem in problems):
            raise
        names = [name for name, field in model.model_fields.items() if field.init is not False]
        details = [_suggesting(problem, names) for problem in problems]
        raise ValidationError.from_exception_data(error.title, details) from None


def _is_no_field(problem: ErrorDetails) -> bool:
    return problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1


def _suggesting(problem: ErrorDetails, names: Iterable[str]) -> InitErrorDetails:
    where, text = problem["loc"], problem["msg"]
    if _is_no_field(problem):
        text = f"there is no field {where[0]!r}{did_you_mean(str(where[0]), names)}"
    # Its text is a template: the placeholder takes whatever the text is.
    kind = PydanticCustomError(problem["type"], "{text}", {"text": text})
    return InitErrorDetails(type=kind, loc=where, input=problem["input"])
