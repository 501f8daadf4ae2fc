"""The JSON schema of agent and app files, for editors: every agent type, field and installed name of a composition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, TypeAdapter, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from newel.agents.kinds import AgentType
from newel.apps.app import App
from newel.apps.configs import EventsCompactionConfig
from newel.apps.llm_event_summarizer import LlmEventSummarizer
from newel.code_executors.kinds import CodeExecutor
from newel.files import agents, apps
from newel.files.agents import DEFAULT_CLASS
from newel.files.plans import Form
from newel.files.shapes import (
    DOTTED,
    SHAPES,
    Shape,
    any_of,
    code_of,
    generation_shapes,
    mapping,
    prune,
    ref,
    refinable,
    several,
    with_variables,
)
from newel.planners.kinds import Planner
from newel.tools.kinds import ToolFactory
from newel_compose import Composition, Factory

_FACTORIES: dict[str, type[Factory]] = {"tool": ToolFactory, "planner": Planner, "codeExecutor": CodeExecutor}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
#: What fields are for. A field of another plugin's type has its own description, or none.
DESCRIPTIONS = {
    "name": "The agent's name, unique in the app: letters, digits and underscores.",
    "description": "What the agent is for; other agents decide by it whether to transfer to it.",
    "sub_agents": "The agents below this one: further files, or agents of the app's code.",
    "model": "The model's address (gemini-3.5-flash-lite, demo:, ...); without one, that of the agent above.",
    "model_code": "A model that the app's code makes.",
    "instruction": "The agent's instruction; {key} stands for a value of the session's state.",
    "global_instruction": "An instruction for every agent of the tree; only the root agent's is used.",
    "static_instruction": "Sent unchanged and before everything else, so that a provider can cache it.",
    "tools": "Tools by name: installed ones, functions, tools and toolsets of the app.",
    "generate_content_config": "The settings of model calls, such as temperature.",
    "mode": "Whether the agent converses (chat), or works on a task that another agent gives it.",
    "disallow_transfer_to_parent": "Whether the agent may not hand the conversation back to the agent above.",
    "disallow_transfer_to_peers": "Whether the agent may not hand the conversation to its peers.",
    "include_contents": "none: the model sees the current turn only.",
    "input_schema": "The class of the agent's input when it is used as a tool.",
    "output_schema": "The class that the answer must fit.",
    "deps_type": "The class of the `deps` that a run must be given.",
    "output_key": "The key of the session's state that gets the final answer.",
    "state_schema": "The class whose fields are the keys of the state that may be written.",
    "planner": "How the agent plans.",
    "code_executor": "What runs the code that the model writes.",
    "max_iterations": "How many iterations the loop makes at most.",
    "graph": "The compiled graph, as module.attribute of the app.",
    "nodes": "The nodes of the graph by name: functions, agents, tools and joins.",
    "edges": "The edges of the graph: chains such as [START, a, {route: b, DEFAULT: c}], or {from, to, route}.",
    "max_concurrency": "How many nodes run concurrently at most.",
    "rerun_on_resume": "Whether the node runs again once its questions are answered.",
    "wait_for_output": "Whether a run without output triggers nothing.",
    "retry_config": "How a failed run is retried.",
    "timeout": "Seconds that one attempt may take.",
    "before_agent_callback": "Before the agent runs; content that it returns is the answer.",
    "after_agent_callback": "After the agent has run; content that it returns is added.",
    "before_model_callback": "Before each model call; a response that it returns takes the call's place.",
    "after_model_callback": "After each model call; a response that it returns takes the model's place.",
    "on_model_error_callback": "When a model call fails; a response that it returns takes the error's place.",
    "before_tool_callback": "Before each tool call; a dict that it returns takes the call's place.",
    "after_tool_callback": "After each tool call; a dict that it returns takes the result's place.",
    "on_tool_error_callback": "When a tool fails; a dict that it returns takes the error's place.",
}
#: What an app's fields are for.
APP_DESCRIPTIONS = {
    "name": "The app's name.",
    "plugins": "Plugins with lifecycle hooks, by the names of their classes.",
    "events_compaction_config": "When the older part of a session is summarised.",
    "context_cache_config": "How providers may cache the start of requests.",
    "resumability_config": "Whether an interrupted invocation can be resumed.",
    "session_service": "Where sessions are kept, as a URI.",
    "artifact_service": "Where artifacts are kept, as a URI.",
    "memory_service": "Where memories are kept, as a URI.",
    "credential_service": "Where credentials are kept, as a URI.",
    "auth_provider_registry": "An AuthProviderRegistry of the app's code.",
}
_ROOT = "The root agent: a file, or an agent of the app's code."


def agent_schema(composition: Composition) -> Shape:
    """The schema of an agent file; its agent is also under ``$defs/agent``."""
    head = {"title": "newel agent file", "description": "An agent in YAML."}
    return _whole({**head, **ref("agent")}, _agents(composition))


def app_schema(composition: Composition) -> Shape:
    """The schema of an app file."""
    head = {"title": "newel app file", "description": "An app in YAML."}
    return _whole({**head, **ref("app")}, {**_apps(), **_agents(composition)})


def file_schema(composition: Composition) -> Shape:
    """The schema of either: a file with `root_agent` is an app's, any other an agent's."""
    head = {"title": "newel agent or app file", "description": "An agent or an app in YAML.", "type": "object"}
    choice = {"if": any_of(*_with_root()), "then": ref("app"), "else": ref("agent")}
    return _whole({**head, **choice}, {**_apps(), **_agents(composition)})


def _whole(schema: Shape, definitions: Shape) -> Shape:
    return prune({"$schema": _DRAFT, **schema, "$defs": definitions})


def _agents(composition: Composition) -> Shape:
    """The shapes of everything in an agent file, `agent` among them."""

    types = {name: owned.item.load() for name, owned in sorted(composition.registry.owned(AgentType).items())}
    shapes: Shape = {**SHAPES, **generation_shapes()}
    for name, kind in _FACTORIES.items():
        shapes[name] = code_of(sorted(composition.registry.owned(kind)))
    shapes["tool"] = refinable(shapes["tool"])
    models = {name: _of_model(name, kind, agents.FORM, DESCRIPTIONS, shapes) for name, kind in types.items()}
    for name, model in models.items():
        model["properties"] = {"agent_class": {"const": name}, **model["properties"]}
    return {**with_variables({**shapes, **models}), "agent": _choice(types)}


def _choice(types: Iterable[str]) -> Shape:
    """The type that `agent_class` names."""
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


def _with_root() -> list[Shape]:
    return [{"required": [key]} for key in apps.ROOTS]


def _apps() -> Shape:
    """The shapes of an app's own fields, `app` among them."""
    plain = {name: info for name, info in EventsCompactionConfig.model_fields.items() if name != "summarizer"}
    numbers: Shape = {name: (info.annotation, info) for name, info in plain.items()}
    compaction = create_model("EventsCompactionConfig", __config__=EventsCompactionConfig.model_config, **numbers)
    window = compaction.model_json_schema()
    window["properties"]["summarizer"] = code_of([LlmEventSummarizer.__name__])
    shapes: Shape = {
        "compaction": any_of(window, {"type": "null"}),
        "plugins": several(code_of(apps.plugin_names())),
        "service": any_of({"type": "string", "pattern": ":"}, mapping(["name"], name={}, args=ref("arguments"))),
    }
    app = _of_model("App", App, apps.FORM, {**APP_DESCRIPTIONS, "root_agent": _ROOT}, shapes)
    app["description"] = "A root agent with the plugins and settings that belong to it."
    app["required"] = ["name"]
    app["properties"]["name"]["minLength"] = 1
    return with_variables({**shapes, "app": {**app, "oneOf": _with_root()}})


def _of_model(name: str, model: type[BaseModel], form: Form, descriptions: Mapping[str, str], shapes: Shape) -> Shape:
    """The shape of a model: its fields, in all spellings. Shapes that it needs are added to `shapes`."""
    keys = form.keys_of(model)
    fields = {field: info for field, info in model.model_fields.items() if field in keys}
    properties: dict[str, Shape] = {}
    for field, info in fields.items():
        text = descriptions.get(field) or info.description
        shape = _of_field(model, field, form, shapes)
        properties[field] = {**shape, **({"description": text} if text else {})}
    for spelling, field in form.spellings.items():
        if field in fields and spelling not in fields:
            shape = ref("code") if spelling == "model_code" else ref(form.fields[field].shape)
            properties[spelling] = {**shape, "description": descriptions.get(spelling) or f"The same as {field}."}
    for key, field in form.companions.items():
        if field in fields:
            properties[key] = {**ref(key), "description": descriptions[key]}
    required = [field for field, info in fields.items() if info.is_required()]
    text = (model.__doc__ or name).strip().partition("\n")[0]
    return {"title": name, "description": text, **mapping(required, **properties)}


def _of_field(model: type[BaseModel], field: str, form: Form, shapes: Shape) -> Shape:
    kind = form.kind_of(model, field)
    if kind is not None:
        return ref(kind.shape)
    try:
        schema = TypeAdapter(model.model_fields[field].rebuild_annotation()).json_schema(ref_template="#/$defs/{model}")
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return {}  # a type that only Python can make
    shapes.update({name: one for name, one in schema.pop("$defs", {}).items() if name not in shapes})
    return {key: value for key, value in schema.items() if key != "title"}
