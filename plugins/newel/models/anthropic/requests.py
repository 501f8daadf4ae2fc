"""Requests: the body of a message for an LlmRequest."""

from __future__ import annotations

from dataclasses import dataclass

from newel.models.anthropic.blocks import Media
from newel.models.anthropic.cache_marks import mark
from newel.models.anthropic.media import Report, text_block
from newel.models.anthropic.messages import Messages
from newel.models.anthropic.output import TOOL, Output, output_of
from newel.models.anthropic.thinking import Thinking, for_history, thinking_of
from newel.models.anthropic.tool_search import Fit, defer
from newel.models.anthropic.tools import Tools, tools_of
from newel.models.contract import ModelCapabilities
from newel.models.deferral import DEFERRAL
from newel.models.wire.conversions import Conversions
from newel.models.wire.instruction import texts_of
from newel.models.wire.names import Names
from newel_kernel import Json, LlmRequest
from newel_types import Content, GenerateContentConfig, Part

#: Above this maximum an unstreamed answer may take so long that its silent connection is cut (the SDK's measure).
MOST_UNSTREAMED = 8192
#: Settings that are read here, have no meaning beyond Gemini's SDK, or are for the runtime itself.
_READ = frozenset(
    (
        "http_options",
        "should_return_http_response",
        "system_instruction",
        "temperature",
        "top_p",
        "top_k",
        "max_output_tokens",
        "stop_sequences",
        "response_mime_type",
        "response_schema",
        "response_json_schema",
        "tools",
        "tool_config",
        "labels",
        "automatic_function_calling",
        "thinking_config",
    )
)
#: Settings that have no effect with this value.
_IDLE = {"candidate_count": 1, "response_logprobs": False, "response_modalities": ["TEXT"], "audio_timestamp": False}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request's body, and what is needed to read its answer."""

    body: Json
    tools: Tools
    output: Output
    messages: Messages
    fit: Fit

    def resumed(self, parts: list[Part]) -> list[Json]:
        """The messages of a request that lets the model continue after `parts`."""
        history = self.messages.copy()
        history.add(Content(role="model", parts=parts))
        messages = history.paused()
        return self.fit.messages(messages) if history.has_searches else messages


def outgoing(
    request: LlmRequest,
    model: str,
    capable: ModelCapabilities,
    conversions: Conversions[Messages],
    report: Report,
    max_tokens: int,
) -> Outgoing:
    """The body of `request`, which is not changed. `max_tokens` applies if it sets no maximum."""
    config = request.config
    _report_unknown(config, report)
    media = Media(capable.media, capable.result_media)
    history = conversions.of(request.contents, lambda: Messages(media, report), model)
    tools, output = _tools(config, capable, history, report)
    deferral = request.stash.get(DEFERRAL, None) if capable.tool_search else None
    fit = Fit(frozenset(tool["name"] for tool in tools.declared) if deferral is not None else None)
    messages = fit.messages(history.finish()) if history.has_searches else history.finish()
    thinking = for_history(thinking_of(config, capable, report), messages, report)
    if deferral is not None:
        defer(tools, deferral, history.referenced)
    if thinking.on and tools.choice is not None and tools.choice["type"] in ("any", "tool"):
        report("tool_choice", "a model that thinks cannot be made to call a tool; it is free to")
        tools.choice = None
    body: Json = {
        "model": model,
        "max_tokens": _max_tokens(config, thinking, max_tokens, report),
        "messages": messages,
        **_system(config, output),
        **({"tools": tools.declared} if tools.declared else {}),
        **({"tool_choice": tools.choice} if tools.choice else {}),
        **({"thinking": thinking.config} if thinking.config else {}),
        **_output_config(output, thinking),
        **_sampling(config, capable, thinking, report),
        **_stops(config, report),
    }
    mark(body, request)
    return Outgoing(body, tools, output, history, fit)


def _tools(
    config: GenerateContentConfig, capable: ModelCapabilities, history: Messages, report: Report
) -> tuple[Tools, Output]:
    """The tools, that of a structured answer among them, and the form of the answer."""
    tools = tools_of(config, Names(), report)
    output = output_of(config, capable, report)
    if output.tool is not None:
        tools.declared.append(output.tool)
        is_free = len(tools.declared) > 1 and tools.choice != {"type": "none"}
        tools.choice = {"type": "any"} if is_free else {"type": "tool", "name": TOOL}
    tools.cover(history.called)
    return tools, output


def _report_unknown(config: GenerateContentConfig, report: Report) -> None:
    for name in sorted(config.model_fields_set - _READ):
        value = getattr(config, name)
        if value is not None and value != [] and value != _IDLE.get(name):
            report(name, f"the protocol has no {name}; it is left out")


def _system(config: GenerateContentConfig, output: Output) -> Json:
    texts = [text for text in (*texts_of(config.system_instruction), *output.instructions) if text.strip()]
    return {"system": [text_block(text) for text in texts]} if texts else {}


def _max_tokens(config: GenerateContentConfig, thinking: Thinking, default: int, report: Report) -> int:
    """The maximum; a budget for thoughts has to be below it."""
    most = config.max_output_tokens
    if most is None:
        return default + thinking.room
    budget = (thinking.config or {}).get("budget_tokens", 0)
    if most <= budget:
        report("max_output_tokens", "max_output_tokens has to be above the thinking budget; the budget is added to it")
        return most + int(budget)
    return most


def _output_config(output: Output, thinking: Thinking) -> Json:
    config: Json = {}
    if output.format is not None:
        config["format"] = output.format
    if thinking.effort is not None:
        config["effort"] = thinking.effort
    return {"output_config": config} if config else {}


def _sampling(config: GenerateContentConfig, capable: ModelCapabilities, thinking: Thinking, report: Report) -> Json:
    """Temperature, top_p and top_k, as far as the model takes them, and takes them together."""
    values: Json = {}
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(config, name)
        if value is None:
            continue
        if name not in capable.sampling:
            report(name, f"the model takes no {name}; it is left out")
        elif thinking.on and not _beside_thoughts(name, value):
            report(name, f"a model that thinks does not take this {name}; it is left out")
        else:
            values[name] = value
    if "temperature" in values and "top_p" in values and "either" in capable.sampling:
        report("top_p", "the model takes temperature or top_p; top_p is left out")
        del values["top_p"]
    if values.get("temperature", 0) > 1:
        report("temperature", "the model's highest temperature is 1; a higher one became 1")
        values["temperature"] = 1.0
    if "top_k" in values:
        values["top_k"] = int(values["top_k"])
    return values


def _beside_thoughts(name: str, value: float) -> bool:
    return {"temperature": value == 1, "top_p": 0.95 <= value <= 1}.get(name, False)


def _stops(config: GenerateContentConfig, report: Report) -> Json:
    stops = config.stop_sequences or []
    usable = [stop for stop in stops if stop.strip()]
    if len(usable) < len(stops):
        report("stop_sequences", "the service refuses stop sequences of white space; they are left out")
    return {"stop_sequences": usable} if usable else {}
