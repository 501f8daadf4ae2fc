"""The JSON schema of app files, and the one for both kinds of files."""

from __future__ import annotations

from typing import Any

from pydantic import create_model

from newel.agents.context_cache_config import ContextCacheConfig
from newel.agents.yaml_schema import DRAFT, definitions_of
from newel.agents.yaml_shapes import any_of, code_of, mapping, pruned, ref, several, with_variables
from newel.apps.app_file import plugin_names
from newel.apps.configs import EventsCompactionConfig, ResumabilityConfig
from newel.apps.llm_event_summarizer import LlmEventSummarizer
from newel_compose import Composition

_ROOT = {"root_agent": "The root agent: a file, or an agent of the app's code.", "agent": "The same as root_agent."}
#: What the fields are for.
DESCRIPTIONS = {
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


def app_schema(composition: Composition) -> dict[str, Any]:
    """The schema of an app file."""
    head = {"title": "newel app file", "description": "An app in YAML."}
    return _whole({**head, **ref("app")}, composition)


def file_schema(composition: Composition) -> dict[str, Any]:
    """The schema of either: a file with `root_agent` is an app's, any other an agent's."""
    is_app = any_of(*({"required": [key]} for key in _ROOT))
    head = {"title": "newel agent or app file", "description": "An agent or an app in YAML.", "type": "object"}
    return _whole({**head, "if": is_app, "then": ref("app"), "else": ref("agent")}, composition)


def _whole(schema: dict[str, Any], composition: Composition) -> dict[str, Any]:
    definitions = {**definitions_of(composition), **with_variables(_shapes())}
    return pruned({"$schema": DRAFT, **schema, "$defs": definitions})


def _shapes() -> dict[str, Any]:
    """The shapes of an app's own fields, `app` among them."""
    plain = {name: info for name, info in EventsCompactionConfig.model_fields.items() if name != "summarizer"}
    numbers: Any = {name: (info.annotation, info) for name, info in plain.items()}
    compaction = create_model("EventsCompactionConfig", __config__=EventsCompactionConfig.model_config, **numbers)
    own = {
        "context_cache_config": ContextCacheConfig.model_json_schema(),
        "events_compaction_config": compaction.model_json_schema(),
        "resumability_config": ResumabilityConfig.model_json_schema(),
    }
    own["events_compaction_config"]["properties"]["summarizer"] = code_of([LlmEventSummarizer.__name__])
    service = any_of({"type": "string", "pattern": ":"}, mapping(["name"], name={}, args=ref("arguments")))
    shapes: dict[str, Any] = {
        "name": {"type": "string", "minLength": 1},
        "plugins": several(code_of(plugin_names())),
        "auth_provider_registry": ref("code"),
        **{name: any_of(shape, {"type": "null"}) for name, shape in own.items()},
        **{f"{kind}_service": service for kind in ("session", "artifact", "memory", "credential")},
    }
    described = {name: {**shape, "description": DESCRIPTIONS[name]} for name, shape in shapes.items()}
    roots = {name: {**ref("agentReference"), "description": text} for name, text in _ROOT.items()}
    app = {
        **mapping(["name"], **described, **roots),
        "title": "App",
        "description": "A root agent with the plugins and settings that belong to it.",
        "oneOf": [{"required": [key]} for key in _ROOT],
    }
    return {"app": app}
