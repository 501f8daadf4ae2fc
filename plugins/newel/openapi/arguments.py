"""Arguments: what the model is told of an operation's parameters and body, and how its arguments become values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from newel.openapi.bodies import is_file
from newel.openapi.document import Document
from newel.openapi.errors import ArgumentError
from newel.openapi.names import argument_names, snake_case
from newel.openapi.operation import Operation, Parameter
from newel.openapi.schemas import Schemas, is_quick
from newel_kernel import FeatureUnavailableError, Json, did_you_mean

#: The argument for a whole body.
BODY = "body"
#: How a file is given: its text, or where it is found.
FILE: Json = {
    "description": "A file: its text; or an artifact of the session by its name, or its bytes in base64.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "artifact": {"type": "string", "description": "The name of an artifact."},
                "base64": {"type": "string"},
                "filename": {"type": "string"},
            },
        },
    ],
}
_MOST_PROBLEMS, _LONGEST = 5, 240
#: A longer text is not matched against a pattern.
_MATCHED = 256
#: How many pairs of a reference and a value the validation of a call's arguments may look at.
_MOST_REFERENCES = 50_000


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: a parameter, a property of the body (`name` in the document), or the body (`name` is None)."""

    called: str
    parameter: Parameter | None
    name: str | None
    schema: Any
    required: bool
    description: str
    #: Whether the value is a file, or a list of files.
    file: bool = False
    files: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a call, by what they are for; `body` is None if none is sent."""

    parameters: tuple[tuple[Parameter, Any], ...]
    body: Any
    has_body: bool


class Arguments:
    """The arguments of one operation."""

    def __init__(self, document: Document, schemas: Schemas, operation: Operation, *, preserve: bool) -> None:
        self._schemas = schemas
        self._operation = operation
        self._place = operation.entry.place
        self.listed = _named(list(_arguments(document, operation)), preserve)
        for one in self.listed:
            schemas.check(one.schema, f"{self._place}: the argument {one.called!r}")
        self._by_name = {one.called: one for one in self.listed}
        self._aliases = {alias: one for one in reversed(self.listed) for alias in _aliases(one)}

    def declaration(self, most: int) -> Json:
        """The schema of the arguments for the model, in about `most` characters of JSON."""
        properties = {one.called: _described(self._converted(one), one.description) for one in self.listed}
        required = [one.called for one in self.listed if one.required]
        declared = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return self._schemas.declared(declared, most)

    def _converted(self, one: Argument) -> Any:
        if one.files:
            return {"type": "array", "items": FILE}
        return FILE if one.file else self._schemas.converted(one.schema)

    @cached_property
    def _whole(self) -> Json:
        properties = {one.called: self._converted(one) for one in self.listed}
        return self._schemas.whole({"type": "object", "properties": properties})

    def values(self, args: Mapping[str, Any]) -> Values:
        """The values of a call's arguments; raises ArgumentError if one is wrong, and nothing is sent."""
        given = self._given(args)
        if missing := [one.called for one in self.listed if one.required and one.called not in given]:
            raise ArgumentError(f"missing: {', '.join(missing)}")
        self._validate(given)
        parameters = tuple(
            (one.parameter, given[one.called])
            for one in self.listed
            if one.parameter is not None and one.called in given
        )
        of_body = [one for one in self.listed if one.parameter is None and one.called in given]
        if of_body and of_body[0].name is None:
            return Values(parameters, given[of_body[0].called], True)
        body = self._operation.body
        lacking = (
            sorted(body.required_properties - {one.name for one in of_body}) if body is not None and of_body else []
        )
        if lacking := [one.called for one in self.listed if one.parameter is None and one.name in lacking]:
            raise ArgumentError(f"missing: {', '.join(lacking)}: the body needs them if it is sent at all")
        has_body = bool(of_body) or (body is not None and body.required)
        return Values(parameters, {one.name: given[one.called] for one in of_body}, has_body)

    def _given(self, args: Mapping[str, Any]) -> Json:
        given: Json = {}
        unknown: list[str] = []
        for name, value in args.items():
            one = self._by_name.get(name) or self._aliases.get(name) or self._aliases.get(name.strip("_"))
            if one is None:
                unknown += [] if self._is_reserved(name) else [name]
            elif value is not None or one.parameter is None or one.parameter.location == "path":
                given[one.called] = value  # a parameter without a value is one that is not sent
        if unknown:
            hints = (f"{name!r}{did_you_mean(name, list(self._by_name))}" for name in unknown[:_MOST_PROBLEMS])
            known = ", ".join(self._by_name) or "none"
            raise ArgumentError(f"there is no argument {', '.join(hints)}; the arguments are: {known}")
        return given

    def _is_reserved(self, name: str) -> bool:
        """Whether a name is that of a header or a credential that no caller may set: it is left out."""
        return any(snake_case(name) == snake_case(reserved) for _, reserved in self._operation.reserved)

    def _validate(self, given: Json) -> None:
        try:
            from jsonschema import Draft202012Validator, validators
        except ImportError as error:
            raise FeatureUnavailableError("tools of OpenAPI documents need pip install 'newel[openapi]'") from error
        extend: Callable[..., Any] = validators.extend
        references = {name: _once(Draft202012Validator.VALIDATORS[name]) for name in ("$ref", "$dynamicRef")}
        kind = extend(Draft202012Validator, {"pattern": _pattern, **references})
        problems: list[str] = []
        try:
            for problem in kind(self._whole).iter_errors(given):
                place = ".".join(str(step) for step in problem.absolute_path) or "arguments"
                problems.append(f"{place}: {_shortened(problem.message)}")
                if len(problems) == _MOST_PROBLEMS:
                    break
        except Exception as error:  # noqa: BLE001 - a foreign schema may break the validator in any way
            raise ArgumentError(f"cannot be validated by the document's schema: {_shortened(str(error))}") from None
        if problems:
            raise ArgumentError("; ".join(problems))


def _once(follow: Callable[..., Any]) -> Callable[..., Any]:
    """A keyword that follows a reference once for each value: alternatives that refer to each other would multiply."""
    fits: dict[tuple[object, int], bool] = {}

    def followed(validator: object, reference: object, value: object, schema: object) -> Iterable[Exception]:
        from jsonschema import ValidationError

        key = reference, id(value)  # the values live as long as the call's arguments
        if key in fits:
            if not fits[key]:
                yield ValidationError(f"{value!r} does not fit {reference}")
            return
        if len(fits) == _MOST_REFERENCES:
            raise ValueError(f"it takes more than {_MOST_REFERENCES} references to tell whether they fit it")
        fits[key] = True  # also of a reference that leads to itself
        for problem in follow(validator, reference, value, schema):
            fits[key] = False
            yield problem

    return followed


def _pattern(validator: object, pattern: object, value: object, schema: object) -> Iterable[Exception]:
    """Match short texts against patterns that are quick; the server matches the others."""
    from jsonschema import ValidationError

    if isinstance(value, str) and len(value) <= _MATCHED and isinstance(pattern, str) and is_quick(pattern):
        try:
            found = re.search(pattern, value)
        except re.error:  # of another dialect
            return
        if not found:
            yield ValidationError(f"{value!r} does not match {pattern!r}")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _arguments(document: Document, operation: Operation) -> Iterable[Argument]:
    for parameter in operation.parameters:
        schema = parameter.schema
        yield Argument(parameter.name, parameter, parameter.name, schema, parameter.required, parameter.description)
    body = operation.body
    if body is None:
        return
    place = f"{operation.entry.place}: the body"
    if body.properties is None:
        file = is_file(document.resolved(body.schema, place) if body.schema else body.schema, body.form)
        yield Argument(BODY, None, None, body.schema, body.required, body.description, file)
        return
    for name, schema in body.properties.items():
        shape = document.resolved(schema, f"{place}: {name}") if isinstance(schema, dict) else schema
        if isinstance(shape, dict) and shape.get("readOnly") is True:
            continue
        items = shape.get("items") if isinstance(shape, dict) and shape.get("type") == "array" else None
        inner = document.resolved(items, f"{place}: {name}") if isinstance(items, dict) else None
        files = inner is not None and is_file(inner, body.form)
        required = name in body.required_properties and body.required
        yield Argument(name, None, name, schema, required, "", is_file(shape, body.form), files)


def _named(arguments: list[Argument], preserve: bool) -> tuple[Argument, ...]:
    names = argument_names([one.called for one in arguments], preserve=preserve)
    return tuple(
        Argument(name, one.parameter, one.name, one.schema, one.required, one.description, one.file, one.files)
        for name, one in zip(names, arguments, strict=True)
    )


def _aliases(one: Argument) -> set[str]:
    """What the argument may be called, too: its name in the document, and that in the usual spelling."""
    return {one.name, snake_case(one.name)} if one.name else set()


def _described(schema: Any, description: str) -> Any:
    if not description or not isinstance(schema, dict) or "description" in schema:
        return schema
    return {**schema, "description": description}
