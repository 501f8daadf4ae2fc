"""Spans of a run, by the names and attributes that google-adk gives them: its web page reads these.

What OpenTelemetry gets is in `newel.telemetry`, by the conventions of today.
"""

from __future__ import annotations

from newel.telemetry.attributes import agent_of, provider_of, sampling_of, tokens
from newel_kernel import Json, Operation, Signal

Attributes = Json


def span_name(operation: Operation) -> str:
    """The span's name."""
    match operation.kind:
        case "invocation":
            return "invocation"
        case "model":
            return "call_llm"
        case "agent" | "node":
            return f"invoke_{operation.kind} {operation.name}"
        case "tool" | "merge":
            return f"execute_tool {operation.name}"
        case other:
            return f"{other} {operation.name}"


def beginning(operation: Operation) -> Attributes:
    """The attributes at the start; a sampler sees them."""
    attributes = _BEGINNINGS.get(operation.kind, _of_other)(operation)
    attributes["gen_ai.conversation.id"] = operation.session_id
    if operation.kind not in ("agent", "invocation") and (agent := agent_of(operation)):
        attributes["gen_ai.agent.name"] = agent
    if operation.invocation_id is not None:
        attributes["gcp.vertex.agent.invocation_id"] = operation.invocation_id
    return {name: value for name, value in attributes.items() if value is not None}


def _of_invocation(operation: Operation) -> Attributes:
    return {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": operation.name}


def _of_agent(operation: Operation) -> Attributes:
    description = getattr(operation.subject, "description", None)
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": operation.name,
        "gen_ai.agent.description": description,
    }


def _of_model(operation: Operation) -> Attributes:
    provider = provider_of(operation.subject)
    attributes: Attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.system": provider,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": operation.name,
        "gcp.vertex.agent.session_id": operation.session_id,
    }
    config = operation.input.config
    if config.top_k is not None:
        attributes["gen_ai.request.top_k"] = config.top_k
    return attributes | sampling_of(config)


def _of_tool(operation: Operation) -> Attributes:
    tool = operation.subject
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": operation.name,
        "gen_ai.tool.description": getattr(tool, "description", None),
        "gen_ai.tool.type": type(tool).__name__ if tool is not None else None,
        "gen_ai.tool.call.id": operation.input.id,
    }


def _of_merge(operation: Operation) -> Attributes:
    name = "(merged tools)"
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.description": name}


def _of_retry(operation: Operation) -> Attributes:
    """Of a wait before a model is asked again: which policy asks, why, and for how long. The subject is a `Retry`."""
    retry = operation.subject
    return {
        "gen_ai.operation.name": "retry",
        "newel.retry.policy": operation.name,
        "newel.retry.error_type": type(operation.input).__name__,
        "newel.retry.delay": retry.delay or 0.0,
        "newel.retry.model": getattr(retry.model, "model", retry.model),
    }


def _of_budget(operation: Operation) -> Attributes:
    """What a call took, or which limit refused it."""
    return {"gen_ai.operation.name": "budget", **operation.input}


def _of_other(operation: Operation) -> Attributes:
    return {"gen_ai.operation.name": f"invoke_{operation.kind}"}


_BEGINNINGS = {
    "invocation": _of_invocation,
    "agent": _of_agent,
    "model": _of_model,
    "tool": _of_tool,
    "merge": _of_merge,
    "retry": _of_retry,
    "budget": _of_budget,
}


def outcome(signal: Signal) -> Attributes:
    """The attributes at the end."""
    result = signal.outcome
    if result is None:
        return {}
    if signal.operation.kind == "model":
        return of_response(result)
    if signal.operation.kind == "invocation" and signal.operation.invocation_id is None:
        return {"gcp.vertex.agent.invocation_id": result.invocation_id}
    return {"gen_ai.tool.call.id": result.id} if signal.operation.kind == "merge" and result.id else {}


def of_response(response: object) -> Attributes:
    """What a response says about itself: its model, why it ended, its tokens."""
    attributes: Attributes = {}
    if version := getattr(response, "model_version", None):
        attributes["gen_ai.response.model"] = version
    if reason := getattr(response, "finish_reason", None):
        attributes["gen_ai.response.finish_reasons"] = [str(getattr(reason, "value", reason)).lower()]
    usage = getattr(response, "usage_metadata", None)
    if usage is not None:
        for kind, count in tokens(response).items():
            attributes[f"gen_ai.usage.{kind}_tokens"] = count
        if usage.cached_content_token_count:
            attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached_content_token_count
    return attributes


def error_type(signal: Signal, error: BaseException | None) -> str | None:
    """The class of the error, or the code of a model's failed response; None: it went well."""
    if error is not None:
        return type(error).__name__
    code = getattr(signal.outcome, "error_code", None) if signal.operation.kind == "model" else None
    return str(code) if code else None
