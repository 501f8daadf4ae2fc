"""Fields of agents in files: how each is read if plain data is not enough.

`FIELDS` maps a field to its kind, and `kind_by_annotation` finds the kind for a field of a user's own class.
A field without a kind is plain data, which the class validates.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

import newel_compose
from newel.code_executors.kinds import CodeExecutor
from newel.files.compilation import Constant, Factory, Place, Reader
from newel.files.graphs import read_edges
from newel.files.names import list_of, read_agent, read_code
from newel.files.tools import read_tool, read_tools, reader_of
from newel.models.contract import BaseLlm
from newel.planners.kinds import Planner
from newel_kernel import LIFECYCLE, BaseAgent, BaseTool, BaseToolset, HookSignatureError
from newel_types import Content, GenerateContentConfig


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What a field takes: its reader, and the name of its shape in the JSON schema."""

    read: Reader
    shape: str = "any"


def read_callbacks(place: Place) -> Factory:
    """One callback, or a list of them; each must take the arguments of its hook."""
    return list_of(_read_callback)(place) if isinstance(place.value, list) else _read_callback(place)


def _read_callback(place: Place) -> Factory:
    make = read_code(place)
    field = next(step for step in reversed(place.steps) if isinstance(step, str))
    hook = SPELLINGS.get(field, field)

    def make_callback() -> object:
        callback = make()
        if not callable(callback):
            kind = type(callback).__name__
            raise place.error(f"a callback is a function, not {kind}; name a function of the app")
        try:
            newel_compose.as_callbacks(hook, callback, "the agent")
        except HookSignatureError as error:
            raise place.error(str(error)) from error
        return callback

    return make_callback


def read_schema(place: Place) -> Factory:
    """A pydantic class or a type of the app; a mapping that names none is a JSON schema."""
    value = place.value
    if isinstance(value, Mapping) and "name" not in value and ({"type", "properties", "$ref", "anyOf"} & value.keys()):
        return Constant(dict(value))
    make = read_code(place)

    def make_schema() -> object:
        schema = make()
        if inspect.isroutine(schema):
            raise place.error(f"{place.key}: expected a class, not a function; name a pydantic class of the app")
        return schema

    return make_schema


def read_model(place: Place) -> Factory:
    """A model's address, or a model that the app's code makes."""
    if not isinstance(place.value, Mapping) and place.key != "model_code":
        return read_text(place)
    make = read_code(place)

    def make_model() -> BaseLlm:
        model = make()
        if isinstance(model, type) and issubclass(model, BaseLlm):
            model = model()  # type: ignore[call-arg]
        if not isinstance(model, BaseLlm):
            raise place.error(
                f"{place.key}: {type(model).__name__} is not a model; name one, or something that makes one"
            )
        return model

    return make_model


def read_text(place: Place) -> Factory:
    """Read a string."""
    return Constant(place.text())


def read_content(place: Place) -> Factory:
    """A text, or a Content as a mapping with `parts`."""
    value = place.value
    if not isinstance(value, Mapping):
        return read_text(place)
    if unknown := value.keys() - {"role", "parts"}:
        raise place.error(f"{place.key} has `role` and `parts`, not {min(unknown)!r}", min(map(str, unknown)))
    try:
        return Constant(Content.model_validate(dict(value)))
    except ValueError as error:
        raise place.error(f"{place.key}: {error}") from None


def read_generation(place: Place) -> Factory:
    """The configuration of model calls."""
    if not isinstance(place.value, Mapping):
        raise place.error(f"{place.key}: expected a mapping, such as `temperature: 0.2` on a line of its own")
    return Constant(place.parsed(GenerateContentConfig))


CALLBACKS = tuple(name for name, spec in LIFECYCLE.items() if spec.agent_keywords is not None)
#: Other spellings of a field.
SPELLINGS = {f"{name}s": name for name in CALLBACKS} | {"model_code": "model"}

_AGENT = FieldKind(read_agent, "agentReference")
_CODE = FieldKind(read_code, "code")
_MODEL = FieldKind(read_model, "model")
_SCHEMA = FieldKind(read_schema, "schemaReference")
_TEXT = FieldKind(read_text, "text")
_TOOL = FieldKind(read_tool, "tool")

FIELDS: dict[str, FieldKind] = {
    "code_executor": FieldKind(reader_of(CodeExecutor), "codeExecutor"),
    "edges": FieldKind(read_edges, "edges"),
    "generate_content_config": FieldKind(read_generation, "generateContentConfig"),
    "global_instruction": _TEXT,
    "graph": _CODE,
    "input_schema": _SCHEMA,
    "instruction": _TEXT,
    "model": _MODEL,
    "output_schema": _SCHEMA,
    "deps_type": _SCHEMA,
    "planner": FieldKind(reader_of(Planner), "planner"),
    "state_schema": _SCHEMA,
    "static_instruction": FieldKind(read_content, "content"),
    "sub_agents": FieldKind(list_of(read_agent), "agentReferences"),
    "tools": FieldKind(read_tools, "tools"),
    **dict.fromkeys(CALLBACKS, FieldKind(read_callbacks, "callbacks")),
}
_BY_BASE: dict[type, FieldKind] = {BaseAgent: _AGENT, BaseTool: _TOOL, BaseToolset: _TOOL, BaseLlm: _MODEL}


def kind_by_annotation(annotation: object) -> FieldKind | None:
    """The kind of a value other than plain data: an agent, a tool, a model, a function, a class, or a list of those."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType, Annotated):
        return next(filter(None, map(kind_by_annotation, inner)), None)
    if origin in (list, tuple) and inner:
        kind = kind_by_annotation(inner[0])
        return FieldKind(list_of(kind.read)) if kind is not None else None
    if origin is Callable or annotation is Callable:
        return _CODE
    if origin is type:
        return _SCHEMA
    if not isinstance(annotation, type):
        return None
    return next((kind for base, kind in _BY_BASE.items() if issubclass(annotation, base)), None)
