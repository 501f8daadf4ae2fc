"""Attributes: what spans and metrics say about an operation, in the words of the GenAI semantic conventions."""

from __future__ import annotations

from typing import Any

from newel.questions.names import CREDENTIAL_CALL
from newel.telemetry.content import WITHHELD, as_json, as_messages, parts_of, without_secrets
from newel_kernel import Json, Operation, Signal

Attributes = Json

#: What a model is asked with: the field of the configuration, and its attribute.
_REQUESTED = {
    "max_output_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "candidate_count": "gen_ai.request.choice.count",
}


def span_name(operation: Operation) -> str:
    """The specified name."""
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


def agent_of(operation: Operation) -> str | None:
    """The name of the agent that runs the operation."""
    one: Operation | None = operation
    while one is not None and one.kind != "agent":
        one = one.parent
    return None if one is None else one.name


def provider_of(model: Any) -> str:
    """Who serves the model: what it says itself, else its class."""
    return str(getattr(model, "provider_name", "") or type(model).__name__)


def beginning(operation: Operation) -> Attributes:
    """What is known at the start; a sampler sees it."""
    known = _BEGINNINGS.get(operation.kind, _of_other)(operation)
    known["gen_ai.conversation.id"] = operation.session_id
    if operation.kind not in ("agent", "invocation") and (agent := agent_of(operation)):
        known["gen_ai.agent.name"] = agent
    if operation.invocation_id is not None:
        known["gcp.vertex.agent.invocation_id"] = operation.invocation_id
    return {name: value for name, value in known.items() if value is not None}


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
    known: Attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.system": provider,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": operation.name,
        "gcp.vertex.agent.session_id": operation.session_id,
    }
    config = operation.given.config
    for field, name in _REQUESTED.items():
        if (value := getattr(config, field, None)) is not None:
            known[name] = value
    if config.stop_sequences:
        known["gen_ai.request.stop_sequences"] = list(config.stop_sequences)
    return known


def _of_tool(operation: Operation) -> Attributes:
    tool = operation.subject
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": operation.name,
        "gen_ai.tool.description": getattr(tool, "description", None),
        "gen_ai.tool.type": type(tool).__name__ if tool is not None else None,
        "gen_ai.tool.call.id": operation.given.id,
    }


def _of_merge(operation: Operation) -> Attributes:
    named = "(merged tools)"
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": named, "gen_ai.tool.description": named}


def _of_other(operation: Operation) -> Attributes:
    return {"gen_ai.operation.name": f"invoke_{operation.kind}"}


_BEGINNINGS = {
    "invocation": _of_invocation, "agent": _of_agent, "model": _of_model, "tool": _of_tool, "merge": _of_merge,
}  # fmt: skip


def outcome(signal: Signal) -> Attributes:
    """What is known at the end."""
    got = signal.outcome
    if got is None:
        return {}
    if signal.operation.kind == "model":
        return _of_response(got)
    if signal.operation.kind == "invocation" and signal.operation.invocation_id is None:
        return {"gcp.vertex.agent.invocation_id": got.invocation_id}
    return {"gen_ai.tool.call.id": got.id} if signal.operation.kind == "merge" and got.id else {}


def _of_response(response: Any) -> Attributes:
    known: Attributes = {}
    if version := getattr(response, "model_version", None):
        known["gen_ai.response.model"] = version
    if reason := getattr(response, "finish_reason", None):
        known["gen_ai.response.finish_reasons"] = [str(getattr(reason, "value", reason)).lower()]
    used = getattr(response, "usage_metadata", None)
    if used is not None:
        for kind, count in tokens(response).items():
            known[f"gen_ai.usage.{kind}_tokens"] = count
        if used.cached_content_token_count:
            known["gen_ai.usage.cache_read.input_tokens"] = used.cached_content_token_count
    return known


def tokens(response: Any) -> dict[str, int]:
    """The tokens of a response, ``input`` and ``output`` (what the model thought is output); those it tells."""
    used = getattr(response, "usage_metadata", None)
    if used is None:
        return {}
    counted: dict[str, int] = {}
    if used.prompt_token_count is not None:
        counted["input"] = used.prompt_token_count
    if used.candidates_token_count is not None or used.thoughts_token_count is not None:
        counted["output"] = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
    return counted


def error_type(signal: Signal, error: BaseException | None) -> str | None:
    """The class of the error, or the code of a model's failed response; None: it went well."""
    if error is not None:
        return type(error).__name__
    code = getattr(signal.outcome, "error_code", None) if signal.operation.kind == "model" else None
    return str(code) if code else None


def content_given(operation: Operation, most: int) -> Attributes:
    """What went in; only where content is captured."""
    if operation.kind == "tool":
        args = WITHHELD if operation.name == CREDENTIAL_CALL else without_secrets(operation.given.args or {}, most)
        return {"gen_ai.tool.call.arguments": as_json(args)}
    if operation.kind != "model":
        return {}
    request = operation.given
    said: Attributes = {"gen_ai.input.messages": as_json(as_messages(list.copy(request.contents), most))}
    instruction = request.config.system_instruction
    if instruction:
        said["gen_ai.system_instructions"] = as_json(parts_of(instruction, most))
    return said


def content_got(signal: Signal, most: int) -> Attributes:
    """What came out; only where content is captured."""
    got = signal.outcome
    if got is None:
        return {}
    if signal.operation.kind == "tool":
        results = [one.response for one in got.get_function_responses()]
        result = results[0] if results and signal.operation.name != CREDENTIAL_CALL else WITHHELD
        return {"gen_ai.tool.call.result": as_json(without_secrets(result, most))}
    if signal.operation.kind != "model" or getattr(got, "content", None) is None:
        return {}
    (message,) = as_messages([got.content], most)
    reason = getattr(got.finish_reason, "value", got.finish_reason)
    if reason:
        message["finish_reason"] = str(reason).lower()
    return {"gen_ai.output.messages": as_json([message])}
