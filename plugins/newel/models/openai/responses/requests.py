"""Requests: the body of a Responses request for an LlmRequest."""

from __future__ import annotations

from newel.models.contract import ModelCapabilities
from newel.models.openai.declarations import Choice, Declarations
from newel.models.openai.history import as_json
from newel.models.openai.parameters import OutputFormat, instructions, report_unsupported, sampling, service_tier
from newel.models.openai.thinking import Report, effort
from newel_kernel import Json
from newel_types import GenerateContentConfig

_SUPPORTED = ("response_logprobs", "logprobs")
_LEAST_OUTPUT = 16
#: The user's message if the conversation is empty.
_BEGIN: Json = {"type": "message", "role": "user", "content": "Do now what your instructions ask for."}
_IN_JSON = "Answer in JSON."
_ENCRYPTED = "reasoning.encrypted_content"


def body(
    config: GenerateContentConfig,
    model: str,
    items: list[Json],
    tools: Declarations,
    format: OutputFormat | None,
    capable: ModelCapabilities,
    report: Report,
    *,
    store: bool,
) -> Json:
    """The body, without the fields of streams."""
    fields: Json = {"model": model, "input": items or [_BEGIN], "store": store}
    words = instructions(config, report)
    if format is not None:
        fields["text"] = {"format": _format(format, capable)}
        if format.schema is None and "json" not in words.lower():
            words = "\n\n".join(filter(None, (words, _IN_JSON)))
        elif format.schema is not None and not capable.output_schema:
            words = "\n\n".join(filter(None, (words, f"{_IN_JSON} It must fit this schema: {as_json(format.schema)}")))
    if words:
        fields["instructions"] = words
    fields |= _tools(config, tools, capable, report)
    if config.max_output_tokens is not None:
        fields["max_output_tokens"] = max(config.max_output_tokens, _LEAST_OUTPUT)
        if config.max_output_tokens < _LEAST_OUTPUT:
            report("max_output_tokens", f"answers have room for at least {_LEAST_OUTPUT} tokens")
    fields |= sampling(config, capable, report)
    fields |= _thinking(config, capable, report)
    include = _include(config, fields, capable, report, store=store)
    if include:
        fields["include"] = include
    fields |= service_tier(config)
    report_unsupported(config, _SUPPORTED, report)
    extra = (config.http_options.extra_body if config.http_options is not None else None) or {}
    return {**fields, **extra}


def _format(format: OutputFormat, capable: ModelCapabilities) -> Json:
    if format.schema is None or not capable.output_schema:
        return {"type": "json_object"}
    return {"type": "json_schema", "name": format.name, "schema": format.schema, "strict": format.strict}


def _tools(config: GenerateContentConfig, tools: Declarations, capable: ModelCapabilities, report: Report) -> Json:
    if not tools.tools:
        return {}
    declarations: list[Json] = []
    for tool in tools.tools:
        function: Json = {"type": "function", "name": tool.name, "description": tool.description, "strict": tool.strict}
        function["parameters"] = tool.parameters
        declarations.append(function)
    out: Json = {"tools": declarations}
    choice = tools.choice(config, capable.forced_tools, report)
    if choice is not None:
        out["tool_choice"] = _choice(choice)
    if not capable.parallel_tools:
        out["parallel_tool_calls"] = False
    return out


def _choice(choice: Choice) -> object:
    functions = [{"type": "function", "name": name} for name in choice.names]
    if not functions:
        return choice.mode
    if len(functions) == 1 and choice.mode == "required":
        return functions[0]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": functions}


def _thinking(config: GenerateContentConfig, capable: ModelCapabilities, report: Report) -> Json:
    reasoning: Json = {}
    if word := effort(config, capable, report):
        reasoning["effort"] = word
    if config.thinking_config is not None and config.thinking_config.include_thoughts:
        if capable.thinking:
            reasoning["summary"] = "auto"
        else:
            report("include_thoughts", "this model does not think; there are no thoughts to include")
    return {"reasoning": reasoning} if reasoning else {}


def _include(
    config: GenerateContentConfig, body: Json, capable: ModelCapabilities, report: Report, *, store: bool
) -> list[str]:
    """Further content of an answer: thoughts that only the service can read, unless it keeps them itself."""
    include = [_ENCRYPTED] if capable.thinking and not store else []
    if config.response_logprobs or config.logprobs is not None:
        if capable.sampling:
            include.append("message.output_text.logprobs")
            if config.logprobs is not None:
                body["top_logprobs"] = config.logprobs
        else:
            report("logprobs", "this model gives no log probabilities")
    return include
