"""Requests: the body of a Chat Completions request for an LlmRequest."""

from __future__ import annotations

from newel.models.contract import ModelCapabilities
from newel.models.openai.declarations import Choice, Declarations
from newel.models.openai.history import as_json
from newel.models.openai.parameters import (
    OutputFormat,
    instructions,
    report_unsupported,
    sampling,
    service_tier,
)
from newel.models.openai.profiles import Profile
from newel.models.openai.thinking import Report, effort
from newel_kernel import Json
from newel_types import GenerateContentConfig

_SUPPORTED = ("stop_sequences", "presence_penalty", "frequency_penalty", "seed", "response_logprobs", "logprobs")
_PENALTIES = ("presence_penalty", "frequency_penalty")
_MOST_STOPS = 4
#: The user's message if the conversation is empty.
_BEGIN = "Do now what your instructions ask for."
_IN_JSON = "Answer in JSON."


def body(
    config: GenerateContentConfig,
    model: str,
    messages: list[Json],
    tools: Declarations,
    format: OutputFormat | None,
    profile: Profile,
    capable: ModelCapabilities,
    report: Report,
) -> Json:
    """The body, without the fields of streams; `messages` is not changed."""
    fields: Json = {"model": model, "messages": messages or [{"role": "user", "content": _BEGIN}]}
    fields |= _tools(config, tools, profile, capable, report)
    words = instructions(config, report)
    if format is not None:
        shape, more = _format(format, capable)
        fields["response_format"] = shape
        words = "\n\n".join(filter(None, (words, more if "json" not in words.lower() or format.schema else "")))
    if words:
        role = profile.instruction_role or ("developer" if capable.thinking else "system")
        fields["messages"] = [{"role": role, "content": words}, *fields["messages"]]
    if config.max_output_tokens is not None:
        fields[profile.max_tokens_field] = config.max_output_tokens
    fields |= sampling(config, capable, report)
    fields |= _more_sampling(config, profile, capable, report)
    fields |= _thinking(config, profile, capable, report)
    fields |= service_tier(config)
    if config.store is not None:
        fields["store"] = config.store
    report_unsupported(config, (*_SUPPORTED, *(("top_k",) if profile.top_k else ())), report)
    return {**fields, **profile.extra_body, **_extra(config)}


def _extra(config: GenerateContentConfig) -> Json:
    return (config.http_options.extra_body if config.http_options is not None else None) or {}


def _tools(
    config: GenerateContentConfig, tools: Declarations, profile: Profile, capable: ModelCapabilities, report: Report
) -> Json:
    if not tools.tools:
        return {}
    choice = tools.choice(config, capable.forced_tools, report)
    listed = tools.tools
    if choice is not None and choice.names and not profile.allowed_tools and len(choice.names) > 1:
        listed = [tool for tool in listed if tool.name in choice.names]
        choice = Choice(choice.mode)
    fields: Json = {"tools": []}
    for tool in listed:
        function: Json = {"name": tool.name, "description": tool.description}
        if tool.parameters is not None:
            function["parameters"] = tool.parameters
        if tool.strict:
            function["strict"] = True
        fields["tools"].append({"type": "function", "function": function})
    if choice is not None:
        fields["tool_choice"] = _choice(choice)
    if not (profile.parallel_tools and capable.parallel_tools):
        fields["parallel_tool_calls"] = False
    return fields


def _choice(choice: Choice) -> object:
    functions = [{"type": "function", "function": {"name": name}} for name in choice.names]
    if not functions:
        return choice.mode
    if len(functions) == 1 and choice.mode == "required":
        return functions[0]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": functions}}


def _format(format: OutputFormat, capable: ModelCapabilities) -> tuple[Json, str]:
    """The response format, and the sentences to add to the instructions."""
    if format.schema is None:
        return {"type": "json_object"}, _IN_JSON
    if not capable.output_schema:
        return {"type": "json_object"}, f"{_IN_JSON} It must fit this JSON schema: {as_json(format.schema)}"
    schema = {"name": format.name, "schema": format.schema, "strict": format.strict}
    return {"type": "json_schema", "json_schema": schema}, ""


def _more_sampling(config: GenerateContentConfig, profile: Profile, capable: ModelCapabilities, report: Report) -> Json:
    """Stops, penalties, seed and log probabilities, which models that reason do not take, the seed excepted."""
    fields: Json = {}
    values: Json = {name: getattr(config, name) for name in _PENALTIES}
    stops = config.stop_sequences or []
    if len(stops) > _MOST_STOPS:
        report("stop_sequences", f"at most {_MOST_STOPS} stop sequences are sent; the rest are left out")
    values["stop_sequences"] = stops[:_MOST_STOPS] or None
    values["response_logprobs"] = config.response_logprobs or (True if config.logprobs is not None else None)
    values["logprobs"] = config.logprobs
    spelt = {"stop_sequences": "stop", "response_logprobs": "logprobs", "logprobs": "top_logprobs"}
    for name, value in values.items():
        if value is None:
            continue
        if capable.sampling:
            fields[spelt.get(name, name)] = value
        else:
            report(name, f"this model takes no {name}; it is left out")
    if config.seed is not None:
        fields["seed"] = config.seed
    if profile.top_k and config.top_k is not None:
        fields["top_k"] = int(config.top_k)
    return fields


def _thinking(config: GenerateContentConfig, profile: Profile, capable: ModelCapabilities, report: Report) -> Json:
    if profile.thinking_field == "enable_thinking":
        thinking = config.thinking_config
        if thinking is None or (thinking.thinking_budget is None and thinking.thinking_level is None):
            return {}
        return {"chat_template_kwargs": {"enable_thinking": thinking.thinking_budget != 0}}
    word = effort(config, capable, report)
    if word is None:
        return {}
    return {"reasoning": {"effort": word}} if profile.thinking_field == "reasoning" else {"reasoning_effort": word}
