"""The tools that a request declares, each with its parameters as plain JSON schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from newel.models.json_schemas import Schema, json_schema
from newel_kernel import LlmRequest
from newel_types import Content, FunctionCallingConfigMode

TRANSFER = "transfer_to_agent"
EXIT_LOOP = "exit_loop"
#: Tools by which an agent hands in its result; they end its work.
FINISHERS = ("set_model_response", "finish_task")


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared function."""

    name: str
    description: str
    parameters: Schema


def declared_tools(request: LlmRequest) -> list[Declared]:
    """The functions that the request allows the model to call, in the order of their declaration."""
    mode, allowed = calling_mode(request)
    if mode is FunctionCallingConfigMode.NONE:
        return []
    tools: list[Declared] = []
    for tool in request.config.tools or ():
        for one in getattr(tool, "function_declarations", None) or ():
            if one.name and (not allowed or one.name in allowed):
                schema = one.parameters_json_schema if one.parameters_json_schema is not None else one.parameters
                tools.append(Declared(one.name, one.description or "", json_schema(schema)))
    return tools


def calling_mode(request: LlmRequest) -> tuple[FunctionCallingConfigMode | None, list[str]]:
    """How the request lets the model call functions, and the only names it allows (empty: all)."""
    config = request.config.tool_config
    calling = config.function_calling_config if config is not None else None
    if calling is None:
        return None, []
    return calling.mode, list(calling.allowed_function_names or ())


def instruction_text(request: LlmRequest) -> str:
    """The system instruction as one text."""
    return _text_of(request.config.system_instruction)


def _text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_text_of, value)))
    if isinstance(value, Content):
        return "".join(part.text for part in value.parts or () if part.text)
    return getattr(value, "text", None) or ""


def answer_schema(request: LlmRequest) -> Schema | None:
    """The schema that the answer must fit, or None if it may be any text."""
    config = request.config
    if config.response_json_schema is not None:
        return json_schema(config.response_json_schema)
    return json_schema(config.response_schema) if config.response_schema is not None else None
