"""Claude through LiteLLM: thinking, cache marks, and settings that it does not have."""

from __future__ import annotations

from newel.models.anthropic.thinking import Thinking, thinking_of
from newel.models.contract import ModelCapabilities
from newel.models.litellm.routes import Route
from newel.models.openai.chat.requests import body
from newel.models.openai.declarations import Declarations
from newel.models.openai.history import as_json
from newel.models.openai.parameters import OutputFormat
from newel.models.openai.thinking import Report
from newel.models.wire.cache_marks import control_of, ends
from newel_kernel import Json, LlmRequest
from newel_types import GenerateContentConfig

_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
_UNSUPPORTED: Json = dict.fromkeys(("presence_penalty", "frequency_penalty", "seed", "response_logprobs", "logprobs"))


def arguments_of(
    request: LlmRequest,
    config: GenerateContentConfig,
    model: str,
    messages: list[Json],
    tools: Declarations,
    shape: OutputFormat | None,
    route: Route,
    capable: ModelCapabilities,
    report: Report,
) -> Json:
    """The arguments for Claude, whose thinking is a parameter of its own and restricts others."""
    thinking = thinking_of(config, capable, report)
    for name in _UNSUPPORTED:
        if getattr(config, name) is not None:
            report(name, f"Claude has no {name}; it is left out")
    changes = {**_UNSUPPORTED, "thinking_config": None, "stop_sequences": _stops(config, report)}
    plain = config.model_copy(update=changes)
    arguments = body(plain, model, messages, tools, shape, route.profile, capable, report)
    bounds = [name for name in _BOUNDS if shape is not None and f'"{name}"' in as_json(shape.schema)]
    if bounds:
        report("response_schema", f"LiteLLM moves {', '.join(bounds)} of a response schema into its descriptions")
    choice = arguments.get("tool_choice")
    if isinstance(choice, dict) and "allowed_tools" in choice:
        arguments["tool_choice"] = choice["allowed_tools"]["mode"]
        report("tool_config", "a choice among several tools cannot be expressed; the model may call any tool")
    _mark(arguments, request, model)
    if thinking.config is not None:
        _think(arguments, thinking, config, report)
    return arguments


def _think(arguments: Json, thinking: Thinking, config: GenerateContentConfig, report: Report) -> None:
    """Set Claude's thinking, and remove the settings that cannot go with it."""
    arguments["thinking"] = thinking.config
    if thinking.effort is not None:
        arguments["output_config"] = {"effort": thinking.effort}
    if not thinking.on:
        return
    most = config.max_output_tokens
    if most is None or most <= thinking.room:
        arguments["max_tokens"] = thinking.room + 4096
        if most is not None:
            report("max_output_tokens", "the maximum must be above the thinking budget; it is raised")
    for name in ("temperature", "top_k", "top_p"):
        if arguments.pop(name, None) is not None:
            report(name, f"{name} cannot be combined with thinking; it is left out")
    if arguments.get("tool_choice") not in (None, "auto", "none"):
        arguments["tool_choice"] = "auto"
        report("tool_config", "no tool can be forced while the model thinks; it may call one")


def _stops(config: GenerateContentConfig, report: Report) -> list[str] | None:
    """The stop sequences, without those of white space only, which the service refuses."""
    stops = config.stop_sequences
    usable = [stop for stop in stops or () if stop.strip()]
    if stops and len(usable) < len(stops):
        report("stop_sequences", "stop sequences of white space only are left out")
    return usable or None


def _mark(arguments: Json, request: LlmRequest, model: str) -> None:
    """Mark what the next requests will begin with, if requests are cached."""
    messages: list[Json] = arguments["messages"]
    control = control_of(request, model, arguments.get("tools"), messages)
    if control is None:
        return
    if arguments.get("tools"):
        arguments["tools"] = [*arguments["tools"][:-1], {**arguments["tools"][-1], "cache_control": control}]
    arguments["messages"] = messages = [*messages]
    roles = [message["role"] for message in messages]
    for index in {*ends(request, roles), *(() if roles[0] != "system" else (0,))}:
        messages[index] = _marked(messages[index], control)


def _marked(message: Json, control: Json) -> Json:
    """The message with a mark at its end: on its last part, or on itself if it is a text or a tool's result."""
    content = message.get("content")
    if isinstance(content, list) and content and message["role"] != "tool":
        return {**message, "content": [*content[:-1], {**content[-1], "cache_control": control}]}
    return {**message, "cache_control": control}
