"""The arguments of a function tool: from what a model wrote to what the function takes."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import ErrorDetails

from newel.tools.function_schema import Shape
from newel_kernel import Json

_RETRY = "You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters"


class Arguments:
    """Prepares the arguments of one function. The validators are built at first use and kept."""

    def __init__(self, tool_name: str, shape: Shape) -> None:
        self._tool_name = tool_name
        self._shape = shape
        self._mandatory = shape.mandatory
        self._adapters: dict[str, TypeAdapter[object] | None] = {}

    def fit(self, args: Json) -> bool:
        """Whether the arguments are just what the annotations say, no more and no less: the usual call."""
        if args.keys() != self._shape.parameters.keys():
            return False
        hints = self._shape.hints
        for name, value in args.items():  # noqa: SIM110 - a generator costs twice as much, on every call
            if type(value) is not hints.get(name):
                return False
        return True

    def prepare(self, args: Json, *, strict: bool) -> tuple[Json, str | None]:
        """The values to call with, or an error for the model.

        JSON objects become the pydantic models that the annotations ask for; unknown names are left out (the
        model cannot reach the context). With `strict`, every value must fit its annotation and is coerced to it;
        without it, a value that does not fit a model is passed as it is.
        """
        declared = self._shape.parameters
        values = {name: value for name, value in args.items() if name in declared}
        missing = [name for name in self._mandatory if name not in values]
        if missing:
            return values, (
                f"Invoking `{self._tool_name}()` failed as the following mandatory input parameters are not present:\n"
                + "\n".join(missing)
                + f"\n{_RETRY}."
            )
        problems = []
        for name in declared:
            if name not in values:
                continue
            hint = self._shape.hints.get(name, Any)
            if type(values[name]) is hint or not (strict or _holds_model(hint)):
                continue
            if values[name] is None and not strict:
                continue
            try:
                values[name] = self._coerce(name, hint, values[name])
            except ValidationError as error:
                problems += [_problem(name, detail) for detail in error.errors(include_url=False)] if strict else []
        if problems:
            return values, (
                f"Invoking `{self._tool_name}()` failed due to wrong parameters:\n"
                + "\n".join(problems)
                + f"\n{_RETRY} with correct types."
            )
        return values, None

    def _coerce(self, name: str, hint: Any, value: object) -> object:
        if name not in self._adapters:
            try:
                self._adapters[name] = TypeAdapter(hint)
            except (PydanticSchemaGenerationError, PydanticUserError):
                self._adapters[name] = None  # an annotation that pydantic does not know says nothing about the value
        adapter = self._adapters[name]
        return value if adapter is None else adapter.validate_python(value)


def _holds_model(hint: object) -> bool:
    """Whether the annotation is a pydantic model, a union with one, or a list of them."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _holds_model(get_args(hint)[0])
    if origin in (Union, UnionType, list):
        return any(_holds_model(option) for option in get_args(hint))
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _problem(name: str, detail: ErrorDetails) -> str:
    where = ".".join([name, *(str(step) for step in detail["loc"])])
    return f"{where}: {detail['msg']}"
