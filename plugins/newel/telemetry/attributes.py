"""Attributes: what spans and metrics say about an operation, in the words of the GenAI semantic conventions."""

from __future__ import annotations

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
    """The span's name, as the conventions specify it."""
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


def provider_of(model: object) -> str:
    """The provider of the model: as the model says, else by its class."""
    return str(getattr(model, "provider_name", "") or type(model).__name__)


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
    for field, name in _REQUESTED.items():
        if (value := getattr(config, field, None)) is not None:
            attributes[name] = value
    if config.stop_sequences:
        attributes["gen_ai.request.stop_sequences"] = list(config.stop_sequences)
    return attributes


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


def _of_other(operation: Operation) -> Attributes:
    return {"gen_ai.operation.name": f"invoke_{operation.kind}"}


_BEGINNINGS = {
    "invocation": _of_invocation,
    "agent": _of_agent,
    "model": _of_model,
    "tool": _of_tool,
    "merge": _of_merge,
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


def tokens(response: object) -> dict[str, int]:
    """The tokens of a response, ``input`` and ``output`` (thoughts are output), as far as it counts them."""
    usage = getattr(response, "usage_metadata", None)
    if usage is None:
        return {}
    counts: dict[str, int] = {}
    if usage.prompt_token_count is not None:
        counts["input"] = usage.prompt_token_count
    if usage.candidates_token_count is not None or usage.thoughts_token_count is not None:
        counts["output"] = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return counts


def error_type(signal: Signal, error: BaseException | None) -> str | None:
    """The class of the error, or the code of a model's failed response; None: it went well."""
    if error is not None:
        return type(error).__name__
    code = getattr(signal.outcome, "error_code", None) if signal.operation.kind == "model" else None
    return str(code) if code else None


def input_content(operation: Operation, most: int) -> Attributes:
    """What went in; only if content is captured."""
    if operation.kind == "tool":
        args = WITHHELD if operation.name == CREDENTIAL_CALL else without_secrets(operation.input.args or {}, most)
        return {"gen_ai.tool.call.arguments": as_json(args)}
    if operation.kind != "model":
        return {}
    request = operation.input
    attributes: Attributes = {"gen_ai.input.messages": as_json(as_messages(list.copy(request.contents), most))}
    instruction = request.config.system_instruction
    if instruction:
        attributes["gen_ai.system_instructions"] = as_json(parts_of(instruction, most))
    return attributes


def output_content(signal: Signal, most: int) -> Attributes:
    """What came out; only if content is captured."""
    output = signal.outcome
    if output is None:
        return {}
    if signal.operation.kind == "tool":
        results = [one.response for one in output.get_function_responses()]
        result = results[0] if results and signal.operation.name != CREDENTIAL_CALL else WITHHELD
        return {"gen_ai.tool.call.result": as_json(without_secrets(result, most))}
    if signal.operation.kind != "model" or getattr(output, "content", None) is None:
        return {}
    (message,) = as_messages([output.content], most)
    reason = getattr(output.finish_reason, "value", output.finish_reason)
    if reason:
        message["finish_reason"] = str(reason).lower()
    return {"gen_ai.output.messages": as_json([message])}
