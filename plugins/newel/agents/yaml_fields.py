"""Fields of an agent file: how each is read where plain data is not enough.

`READERS` maps a field to its reader, and `reader_of` finds one for a field of somebody's own class by its annotation.
A field without one is plain data, which the class validates.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from newel.agents.yaml_agents import read_agent, read_agents
from newel.agents.yaml_edges import read_edges
from newel.agents.yaml_reading import Make, Reader, Ready, items, parsed, read_code, read_text
from newel.agents.yaml_syntax import Steps
from newel.agents.yaml_tools import provided, read_tool, read_tools
from newel_kernel import BaseAgent
from newel_kernel import BaseLlm
from newel_kernel import BaseTool, BaseToolset
from newel_kernel import HookSignatureError
from newel_kernel import LIFECYCLE, as_callbacks
from newel_types import GenerateContentConfig
from newel_types import Content

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile


def read_callbacks(file: AgentFile, steps: Steps, value: Any) -> Make:
    """One callback, or a list of them; each must take the arguments of its hook."""
    if not isinstance(value, list):
        return _callback(file, steps, value)
    makes = [_callback(file, (*steps, index), item) for index, item in enumerate(value)]
    return lambda: [make() for make in makes]


def _callback(file: AgentFile, steps: Steps, value: Any) -> Make:
    make = read_code(file, steps, value)
    field = next(step for step in reversed(steps) if isinstance(step, str))
    hook = SPELLINGS.get(field, field)

    def make_callback() -> Any:
        found = make()
        if not callable(found):
            raise file.error(steps, f"a callback is a function, not {type(found).__name__}; name a function of the app")
        try:
            as_callbacks(hook, found, "the agent")
        except HookSignatureError as error:
            raise file.error(steps, str(error)) from error
        return found

    return make_callback


def read_schema(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A pydantic class or a type of the app; a mapping that names none is a JSON schema."""
    if isinstance(value, Mapping) and "name" not in value and ({"type", "properties", "$ref", "anyOf"} & value.keys()):
        return Ready(dict(value))
    make = read_code(file, steps, value)

    def make_schema() -> Any:
        found = make()
        if inspect.isroutine(found):
            raise file.error(
                steps, f"{steps[-1]}: a class is wanted, not a function; name a pydantic class of the app"
            )
        return found

    return make_schema


def read_model(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A model's address, or a model that the app's code makes."""
    if not isinstance(value, Mapping) and steps[-1] != "model_code":
        return read_text(file, steps, value)
    make = read_code(file, steps, value)

    def make_model() -> BaseLlm:
        found = make()
        if inspect.isclass(found) and issubclass(found, BaseLlm):
            found = found()  # type: ignore[call-arg]
        if not isinstance(found, BaseLlm):
            raise file.error(steps, f"{steps[-1]}: {type(found).__name__} is no model; name one, or what makes one")
        return found

    return make_model


def read_content(file: AgentFile, steps: Steps, value: Any) -> Make:
    """A text, or a Content as a mapping with `parts`."""
    if isinstance(value, Mapping):
        return Ready(parsed_content(file, steps, value))
    return read_text(file, steps, value)


def parsed_content(file: AgentFile, steps: Steps, value: Mapping[str, Any]) -> Content:
    """A Content from data."""
    if unknown := value.keys() - {"role", "parts"}:
        raise file.error((*steps, min(map(str, unknown))), f"{steps[-1]} has `role` and `parts`, not {min(unknown)!r}")
    try:
        return Content.model_validate(dict(value))
    except ValueError as error:
        raise file.error(steps, f"{steps[-1]}: {error}") from None


def read_generation(file: AgentFile, steps: Steps, value: Any) -> Ready[GenerateContentConfig]:
    """The configuration of model calls."""
    if not isinstance(value, Mapping):
        raise file.error(steps, f"{steps[-1]}: a mapping is wanted, such as `temperature: 0.2` on a line of its own")
    return Ready(parsed(file, steps, value, GenerateContentConfig))


CALLBACKS = tuple(name for name, spec in LIFECYCLE.items() if spec.agent_keywords is not None)

READERS: dict[str, Reader] = {
    "code_executor": provided("CodeExecutor"),
    "edges": read_edges,
    "generate_content_config": read_generation,
    "global_instruction": read_text,
    "graph": read_code,
    "input_schema": read_schema,
    "instruction": read_text,
    "model": read_model,
    "output_schema": read_schema,
    "planner": provided("Planner"),
    "state_schema": read_schema,
    "static_instruction": read_content,
    "sub_agents": read_agents,
    "tools": read_tools,
    **dict.fromkeys(CALLBACKS, read_callbacks),
}

#: Other spellings of a field.
SPELLINGS = {f"{name}s": name for name in CALLBACKS} | {"model_code": "model"}


def reader_of(kind: type[BaseModel], field: str) -> Reader | None:
    """The reader of a field of `kind`; None where it is plain data."""
    return READERS.get(field) or _by_annotation(kind.model_fields[field].annotation)


def _by_annotation(annotation: Any) -> Reader | None:
    """The reader of what data cannot be: an agent, a tool, a model, a function, a class, or a list of those."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType, Annotated):
        return next(filter(None, map(_by_annotation, inner)), None)
    if origin in (list, tuple) and inner:
        return _list_of(_by_annotation(inner[0]))
    if origin is Callable or annotation is Callable:
        return read_code
    if origin is type:
        return read_schema
    if not isinstance(annotation, type):
        return None
    readers = {BaseAgent: read_agent, BaseTool: read_tool, BaseToolset: read_tool, BaseLlm: read_model}
    return next((reader for base, reader in readers.items() if issubclass(annotation, base)), None)


def _list_of(read: Reader | None) -> Reader | None:
    if read is None:
        return None

    def read_list(file: AgentFile, steps: Steps, value: Any) -> Make:
        makes = [read(file, place, item) for place, item in items(file, steps, value)]
        return lambda: [make() for make in makes]

    return read_list
