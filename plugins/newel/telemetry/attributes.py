"""Attributes: what spans and metrics say about an operation, by the GenAI conventions 0.1.0 of OpenTelemetry.

`generations` translates them for who reads an older generation.
"""

from __future__ import annotations

from newel.telemetry.readers import for_readers
from newel_kernel import Json, ModelError, Operation, Signal
from newel_types import GenerateContentConfig

Attributes = Json

#: Operations without a span: retries and budgets are events of the model's span, and results are merged without a call.
WITHOUT_SPAN = frozenset(("retry", "budget", "merge"))
#: What a model is asked with: the field of the configuration, and its attribute.
_REQUESTED = {
    "max_output_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "candidate_count": "gen_ai.request.choice.count",
}
_OUTPUT_TYPES = {"application/json": "json", "text/x.enum": "text", "text/plain": "text"}
#: Words of finish reasons, by google-genai's; any other one is ``error``.
_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"),
        "content_filter",
    ),
}
#: The tokens of a response: the name in attributes, and the fields of its usage that are added.
_TOKENS = {
    "input": ("prompt_token_count",),
    "output": ("candidates_token_count", "thoughts_token_count"),
    "cache_read.input": ("cached_content_token_count",),
    "cache_write.input": ("cache_write_token_count",),
    "reasoning.output": ("thoughts_token_count",),
}


def span_name(operation: Operation, beginning: Attributes) -> str:
    """The name of the span that begins with these attributes."""
    match operation.kind:
        case "invocation":
            return f"invoke_workflow {operation.name}"
        case "agent":
            return f"invoke_agent {operation.name}"
        case "model":
            return f"{beginning['gen_ai.operation.name']} {operation.name}"
        case "tool":
            return f"execute_tool {operation.name}"
        case other:
            return f"{other} {operation.name}"


def agent_of(operation: Operation) -> str | None:
    """The name of the agent that runs the operation."""
    one: Operation | None = operation
    while one is not None and one.kind != "agent":
        one = one.parent
    return None if one is None else one.name


def provider_of(model: object) -> str:
    """The provider of the model: as the model says, else its class."""
    return str(getattr(model, "provider_name", "") or type(model).__name__)


def beginning(operation: Operation) -> Attributes:
    """The attributes at the start; a sampler sees them."""
    of_kind = _BEGINNINGS.get(operation.kind)
    attributes = {f"newel.{operation.kind}.name": operation.name} if of_kind is None else of_kind(operation)
    if of_kind is not None:
        attributes["gen_ai.conversation.id"] = operation.session_id
        if operation.kind in ("model", "tool") and (agent := agent_of(operation)):
            attributes["gen_ai.agent.name"] = agent
    else:
        attributes["session.id"] = operation.session_id
    if operation.invocation_id is not None:
        attributes["gcp.vertex.agent.invocation_id"] = operation.invocation_id
    return {name: value for name, value in attributes.items() if value is not None}


def _of_invocation(operation: Operation) -> Attributes:
    return {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": operation.name,
        "session.id": operation.session_id,
    }


def _of_agent(operation: Operation) -> Attributes:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": operation.name,
        "gen_ai.agent.description": getattr(operation.subject, "description", None) or None,
    }


def operation_name(model: object) -> str:
    """What a call of the model is: Google's services generate content, all others chat."""
    return "generate_content" if provider_of(model).startswith("gcp.") else "chat"


def sampling_of(config: GenerateContentConfig) -> Attributes:
    """How a request wants its answer sampled and ended, but for ``top_k``, which changed its type."""
    values = {name: getattr(config, field) for field, name in _REQUESTED.items()}
    attributes = {name: value for name, value in values.items() if value is not None}
    if config.stop_sequences:
        attributes["gen_ai.request.stop_sequences"] = list(config.stop_sequences)
    return attributes


def _of_model(operation: Operation) -> Attributes:
    attributes: Attributes = {
        "gen_ai.operation.name": operation_name(operation.subject),
        "gen_ai.provider.name": provider_of(operation.subject),
        "gen_ai.request.model": operation.name,
        "gen_ai.request.stream": operation.facts.get("stream") or None,
    }
    config = operation.input.config
    attributes |= sampling_of(config)
    if config.top_k is not None:
        attributes["gen_ai.request.top_k"] = int(config.top_k)
    if config.response_schema is not None or config.response_json_schema is not None:
        attributes["gen_ai.output.type"] = "json"
    elif config.response_mime_type in _OUTPUT_TYPES:
        attributes["gen_ai.output.type"] = _OUTPUT_TYPES[config.response_mime_type]
    return attributes


def _of_tool(operation: Operation) -> Attributes:
    tool = operation.subject
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": operation.name,
        "gen_ai.tool.description": getattr(tool, "description", None) or None,
        "gen_ai.tool.type": tool_type(tool),
        "gen_ai.tool.call.id": operation.input.id,
    }


def tool_type(tool: object) -> str:
    """``function``, or what a tool's class says: ``extension`` (it calls a service) or ``datastore`` (it looks up)."""
    said = getattr(type(tool), "telemetry_type", None)
    return said if said in ("extension", "datastore") else "function"


_BEGINNINGS = {"invocation": _of_invocation, "agent": _of_agent, "model": _of_model, "tool": _of_tool}


def outcome(signal: Signal) -> Attributes:
    """The attributes at the end."""
    operation, result = signal.operation, signal.outcome
    if operation.kind == "model":
        return {**_of_call(operation), **of_response(result)}
    if operation.kind == "invocation" and operation.invocation_id is None and result is not None:
        return {"gcp.vertex.agent.invocation_id": result.invocation_id}
    return {}


def _of_call(operation: Operation) -> Attributes:
    """What the model's own code told of its call."""
    facts, attributes = operation.facts, server_of(operation)
    if "response_id" in facts:
        attributes["gen_ai.response.id"] = str(facts["response_id"])
    if facts.get("stream") and "seconds_to_first" in facts:
        attributes["gen_ai.response.time_to_first_chunk"] = facts["seconds_to_first"]
    return attributes


def server_of(operation: Operation) -> Attributes:
    """The server that a model's call asked, as far as its code told."""
    if "server" not in operation.facts:
        return {}
    host, port = operation.facts["server"]
    return {"server.address": host, **({"server.port": port} if port is not None else {})}


def of_response(response: object) -> Attributes:
    """What a response says about itself: its model, why it ended, its tokens."""
    attributes: Attributes = {}
    if version := getattr(response, "model_version", None):
        attributes["gen_ai.response.model"] = version
    if reason := finish_reason(response):
        attributes["gen_ai.response.finish_reasons"] = [reason]
    counts = tokens(response)
    for kind, count in counts.items():
        attributes[f"gen_ai.usage.{kind}_tokens"] = count
    return attributes | for_readers(response, counts)


def finish_reason(response: object) -> str | None:
    """Why a response ended, in the words of the conventions; None: it does not say."""
    content = getattr(response, "content", None)
    reason = getattr(response, "finish_reason", None)
    if content is not None and any(part.function_call is not None for part in content.parts or ()):
        return "tool_call"
    if reason is None:
        return "error" if getattr(response, "error_code", None) else None
    return _FINISH.get(str(getattr(reason, "value", reason)), "error")


def tokens(response: object) -> dict[str, int]:
    """The tokens of a response by kind, as far as it counts them. Those of a cache are input, thoughts are output."""
    usage = getattr(response, "usage_metadata", None)
    if usage is None:
        return {}
    counts: dict[str, int] = {}
    for kind, fields in _TOKENS.items():
        found = [count for field in fields if (count := getattr(usage, field, None)) is not None]
        if found:
            counts[kind] = sum(found)
    return counts


def error_type(signal: Signal, error: BaseException | None) -> str | None:
    """The code of a model's failure, else the class of the error; None: it went well."""
    if isinstance(error, ModelError) and error.code is not None:
        return str(error.code)
    if error is not None:
        kind = type(error)
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    code = getattr(signal.outcome, "error_code", None) if signal.operation.kind == "model" else None
    return str(code) if code else None
