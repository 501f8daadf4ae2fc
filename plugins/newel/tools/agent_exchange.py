"""An agent as a function: its parameters, the message that its arguments make, and its result."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from newel.tools.function_schema import without_titles
from newel.tools.structured_output import OutputSchemaError, json_answer, validated, validated_json
from newel_kernel import BaseAgent, Event, Json
from newel_types import Part

_REQUEST: Json = {"type": "object", "properties": {"request": {"type": "string"}}, "required": ["request"]}


def parameters_of(agent: BaseAgent) -> object:
    """The schema of the parameters: the agent's input schema, else of `request`, a text."""
    schema = schema_of(agent, "input_schema")
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        fields = without_titles(schema.model_json_schema())
        fields.pop("description", None)  # the model class's docstring; the agent has its own
        return fields
    return schema or _REQUEST


def message_text(agent: BaseAgent, args: Json) -> str:
    """The message for the agent; raises a ValueError that says how the arguments do not fit."""
    schema = schema_of(agent, "input_schema")
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            fitting = validated_json(TypeAdapter(schema), args)
        except ValidationError as error:
            raise ValueError(f"the arguments do not fit: {error}") from None
        if not getattr(agent, "__newel_is_graph__", False):  # a graph validates its input itself
            return to_json(fitting, by_alias=True, exclude_none=True).decode()
    if schema is not None:
        return json.dumps(args, ensure_ascii=False)
    request = args.get("request")
    if not isinstance(request, str) or not request:
        raise ValueError("`request` must be a string that describes the task")
    return request


def last_word(events: Sequence[Event]) -> Event | None:
    """The last event with content or an output that the user did not write, or the last failure without one."""
    answer: Event | None = None
    failed: Event | None = None
    for event in events:
        if event.author == "user":
            continue
        if (event.content is not None and event.content.parts) or event.output is not None:
            answer = event
        elif event.error_code:
            failed = event
    return answer or failed


def result_of(agent: BaseAgent, last: Event | None, *, tells_failures: bool = True) -> object:
    """What an agent whose last word is `last` returns: a text, or data that fits its output schema."""
    if last is None:
        return ""
    if last.output is not None:
        return last.output
    if last.content is None:
        return {"error": f"{last.error_code}: {last.error_message or ''}"} if tells_failures else ""
    texts = [text for part in last.content.parts or () if not part.thought and (text := _text(part))]
    text = "\n".join(texts)
    schema = schema_of(agent, "output_schema")
    if schema is None or not text:
        return text
    try:
        return validated(schema, text, json_answer)
    except OutputSchemaError as error:
        raise error.of_agent(agent.name, 1) from None


def schema_of(agent: BaseAgent, kind: str) -> object:
    """The agent's own schema; of a composite agent, that of the sub-agent which starts (or, for output, ends)."""
    while not hasattr(agent, kind):
        if not agent.sub_agents:
            return None
        agent = agent.sub_agents[0 if kind == "input_schema" else -1]
    return getattr(agent, kind)


def _text(part: Part) -> str:
    """What a user would see of a part, code and its output included."""
    if part.text:
        return part.text
    if part.code_execution_result is not None and part.code_execution_result.output:
        return part.code_execution_result.output.rstrip("\n")
    return (part.executable_code.code or "") if part.executable_code is not None else ""
