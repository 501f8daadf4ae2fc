"""The arguments of a function tool: from what a model wrote to what the function takes."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from newel.contexts.model_data import Annotation
from newel.tools.function_signature import Parameter, Shape
from newel_kernel import Json

_RETRY = "You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters"


class Arguments:
    """Prepares the arguments of one function. The validators are built at first use and kept."""

    def __init__(self, tool_name: str, shape: Shape) -> None:
        self._tool_name = tool_name
        self._shape = shape
        self._mandatory = shape.mandatory
        self._hints = {name: parameter.hint for name, parameter in shape.parameters.items()}
        self._fills = {name: p.fill for name, p in shape.parameters.items() if p.fill is not None}
        self._annotations: dict[str, Annotation | None] = {}

    def fit(self, args: Json) -> bool:
        """Whether the arguments are exactly what the annotations say, as in the usual call."""
        hints = self._hints
        if args.keys() != hints.keys():
            return False
        for name, value in args.items():  # noqa: SIM110 - each call of a tool passes here
            if type(value) is not hints[name]:
                return False
        return True

    def prepare(self, args: Json, *, strict: bool) -> tuple[Json, str | None]:
        """The values to call with, or an error for the model.

        JSON objects become the pydantic models that the annotations ask for; unknown names are left out (the
        model cannot reach the context). With `strict`, every value must fit its annotation and is coerced to it;
        without it, a value that does not fit a model is passed unchanged.
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
        for name in tuple(values):
            problems += self._fitted(name, declared[name], values, strict)
        if self._shape.further is not None:
            problems += self._further(args, values)
        values |= {name: fill() for name, fill in self._fills.items() if name not in values}
        if problems:
            return values, (
                f"Invoking `{self._tool_name}()` failed due to wrong parameters:\n"
                + "\n".join(problems)
                + f"\n{_RETRY} with correct types."
            )
        return values, None

    def _fitted(self, name: str, parameter: Parameter, values: Json, strict: bool) -> list[str]:
        """Convert the value under `name` to its annotation; return its problems, if `strict`."""
        hint, value = parameter.hint, values[name]
        if type(value) is hint or not (strict or _holds_model(hint)):
            return []
        if value is None and (parameter.default is None or not strict):
            return []
        try:
            values[name] = self._validated(name, hint, value)
        except ValidationError as error:
            return [_problem(name, detail) for detail in error.errors(include_url=False)] if strict else []
        return []

    def _further(self, args: Json, values: Json) -> list[str]:
        """Put the further keywords that the function takes into `values`; return their problems."""
        problems = []
        for name, value in args.items():
            if name in self._shape.parameters or name in self._shape.reserved:
                continue
            try:
                values[name] = self._validated("**", self._shape.further, value)
            except ValidationError as error:
                problems += [_problem(name, detail) for detail in error.errors(include_url=False)]
        return problems

    def _validated(self, name: str, hint: Any, value: object) -> object:
        if name not in self._annotations:
            self._annotations[name] = Annotation.of(hint)
        annotation = self._annotations[name]
        return value if annotation is None else annotation.validate(value)


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
