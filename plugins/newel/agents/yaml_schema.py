"""The JSON schema of agent files, for editors: every agent type, field and installed name of a composition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from newel.agents import yaml_agents, yaml_reading, yaml_tools
from newel.agents.yaml_edges import read_edges
from newel.agents.yaml_fields import (
    READERS,
    SPELLINGS,
    read_callbacks,
    read_content,
    read_generation,
    read_model,
    read_schema,
    reader_of,
)
from newel.agents.yaml_plan import COMPANIONS, DEFAULT_CLASS
from newel.agents.yaml_shapes import DOTTED, SHAPES, code_of, generation, pruned, ref, with_variables
from newel_compose import Composition

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_HOOKS = {
    "before_agent_callback": "Before the agent runs; content that it returns is the answer.",
    "after_agent_callback": "After the agent has run; content that it returns is said as well.",
    "before_model_callback": "Before each model call; a response that it returns takes the call's place.",
    "after_model_callback": "After each model call; a response that it returns takes the model's place.",
    "on_model_error_callback": "When a model call fails; a response that it returns takes the error's place.",
    "before_tool_callback": "Before each tool call; a dict that it returns takes the call's place.",
    "after_tool_callback": "After each tool call; a dict that it returns takes the result's place.",
    "on_tool_error_callback": "When a tool fails; a dict that it returns takes the error's place.",
}
#: What fields are for. A field of another plugin's type has its own description, or none.
DESCRIPTIONS = {
    "name": "The agent's name, unique in the app: letters, digits and underscores.",
    "description": "What the agent is for; other agents decide by it whether to transfer to it.",
    "sub_agents": "The agents below this one: further files, or agents of the app's code.",
    "model": "The model's address (gemini-2.5-flash, demo:, ...); without one, that of the agent above.",
    "model_code": "A model that the app's code makes.",
    "instruction": "What the agent is told; {key} stands for a value of the session's state.",
    "global_instruction": "What every agent of the tree is told; only the root agent's is used.",
    "static_instruction": "Sent as it is and before everything else, so that a provider can cache it.",
    "tools": "Tools by name: installed ones, functions, tools and toolsets of the app.",
    "generate_content_config": "The settings of model calls, such as temperature.",
    "mode": "Whether the agent converses (chat), or works on a task that another agent gives it.",
    "disallow_transfer_to_parent": "Whether the agent may not hand the conversation back to the agent above.",
    "disallow_transfer_to_peers": "Whether the agent may not hand the conversation to the agents beside it.",
    "include_contents": "none: the model sees the current turn only.",
    "input_schema": "The class of what the agent takes when it is used as a tool.",
    "output_schema": "The class that the answer must fit.",
    "output_key": "The key of the session's state that gets the final answer.",
    "state_schema": "The class whose fields are the keys of the state that may be written.",
    "planner": "How the agent plans.",
    "code_executor": "What runs the code that the model writes.",
    "max_iterations": "How many rounds the loop makes at most.",
    "graph": "The compiled graph, as module.attribute of the app.",
    "nodes": "The nodes of the graph by name: functions, agents, tools and joins.",
    "edges": "The edges of the graph: chains such as [START, a, {route: b, DEFAULT: c}], or {from, to, route}.",
    "max_concurrency": "How many nodes run side by side at most.",
    "rerun_on_resume": "Whether the node runs again once its questions are answered.",
    "wait_for_output": "Whether a run without output triggers nothing.",
    "retry_config": "How a failed run is tried again.",
    "timeout": "Seconds that one attempt may take.",
    **_HOOKS,
}
_SHAPE_OF: dict[Any, str] = {
    READERS["code_executor"]: "codeExecutor",
    READERS["planner"]: "planner",
    yaml_agents.read_agent: "agentReference",
    yaml_agents.read_agents: "agentReferences",
    yaml_reading.read_code: "code",
    yaml_reading.read_text: "text",
    yaml_tools.read_tool: "tool",
    yaml_tools.read_tools: "tools",
    read_callbacks: "callbacks",
    read_content: "content",
    read_edges: "edges",
    read_generation: "generateContentConfig",
    read_model: "model",
    read_schema: "schemaReference",
}


def agent_schema(composition: Composition) -> dict[str, Any]:
    """The schema of an agent file; its agent is also under ``$defs/agent``."""
    definitions = definitions_of(composition)
    return pruned({
        "$schema": DRAFT, "title": "newel agent file", "description": "An agent in YAML.", "$ref": "#/$defs/agent",
        "$defs": definitions,
    })  # fmt: skip


def definitions_of(composition: Composition) -> dict[str, Any]:
    """The shapes of everything in an agent file, `agent` among them."""
    types = {name: owned.item.load() for name, owned in sorted(composition.registry.get("AgentType", {}).items())}
    shapes: dict[str, Any] = {**SHAPES, "generateContentConfig": generation()}
    for name, kind in (("tool", "ToolFactory"), ("planner", "Planner"), ("codeExecutor", "CodeExecutor")):
        shapes[name] = code_of(_names(composition, kind))
    found: dict[str, Any] = {}
    for name, kind in types.items():
        found[name] = _of_type(name, kind, shapes)
    plain: dict[str, Any] = with_variables({**shapes, **found})
    return {**plain, "agent": _choice(types)}


def _names(composition: Composition, kind: str) -> list[str]:
    return sorted(composition.registry.get(kind, {}))


def _choice(types: Iterable[str]) -> dict[str, Any]:
    """The one of the types that `agent_class` names."""
    names = list(types)
    branches = [
        {"if": {"properties": {"agent_class": {"const": name}}, "required": ["agent_class"]}, "then": ref(name)}
        for name in names
    ]
    if DEFAULT_CLASS in names:
        branches.append({"if": {"not": {"required": ["agent_class"]}}, "then": ref(DEFAULT_CLASS)})
    own = {"properties": {"agent_class": {"pattern": r"\."}}, "required": ["agent_class"]}
    kind = {
        "description": f"The agent's type, by default {DEFAULT_CLASS}, or a class of the app as module.Class.",
        "anyOf": [{"enum": names}, {"type": "string", "pattern": DOTTED}],
    }
    branches.append({"if": own, "then": ref("ownAgent")})
    return {"type": "object", "properties": {"agent_class": kind}, "allOf": branches}


def _of_type(name: str, kind: type[BaseModel], shapes: dict[str, Any]) -> dict[str, Any]:
    """An agent type: its fields, and the other spellings that they have."""
    fields = {field: info for field, info in kind.model_fields.items() if info.init is not False}
    properties: dict[str, Any] = {"agent_class": {"const": name}}
    for field, info in fields.items():
        described = DESCRIPTIONS.get(field) or info.description
        shape = _of_field(kind, field, shapes)
        properties[field] = {**shape, **({"description": described} if described else {})}
    for spelling, field in SPELLINGS.items():
        if field in fields and spelling not in fields:
            shape = ref("code") if spelling == "model_code" else ref("callbacks")
            properties[spelling] = {**shape, "description": DESCRIPTIONS.get(spelling) or f"The same as {field}."}
    for key, field in COMPANIONS.items():
        if field in fields:
            properties[key] = {**ref(key), "description": DESCRIPTIONS[key]}
    return {
        "title": name,
        "description": (kind.__doc__ or name).strip().partition("\n")[0],
        "type": "object",
        "properties": properties,
        "required": [field for field, info in fields.items() if info.is_required()],
        "additionalProperties": False,
    }


def _of_field(kind: type[BaseModel], field: str, shapes: dict[str, Any]) -> dict[str, Any]:
    reader = reader_of(kind, field)
    if reader is not None:
        return ref(_SHAPE_OF.get(reader, "any"))
    try:
        schema = TypeAdapter(kind.model_fields[field].rebuild_annotation()).json_schema(ref_template="#/$defs/{model}")
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return {}  # a type that only Python can make
    shapes |= schema.pop("$defs", {})
    return {key: value for key, value in schema.items() if key != "title"}
