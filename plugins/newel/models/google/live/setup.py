"""Setup: the configuration of a live connection, in the SDK's form."""

from __future__ import annotations

from collections.abc import Callable, Container

from newel.models.google.requests import plain
from newel.models.google.sdk import Json
from newel.models.live import LIVE_CONFIG
from newel_kernel import LlmRequest
from newel_types import SpeechConfig

Report = Callable[[str, str], None]

#: Settings of unary calls that also apply to the connection, unless the live settings have them.
_SHARED = (
    "temperature",
    "top_p",
    "top_k",
    "max_output_tokens",
    "seed",
    "media_resolution",
    "thinking_config",
    "safety_settings",
)
#: Settings that are handled separately: the SDK takes only a part of them, or makes them itself.
_APART = {"http_options", "system_instruction", "tools", "speech_config", "session_resumption", "labels"}


def setup(request: LlmRequest, speech: SpeechConfig | None, report: Report, *, vertex: bool) -> Json:
    """The configuration for the SDK. `speech`: the model's own voice, which wins."""
    config = request.stash[LIVE_CONFIG]
    fields: Json = config.model_dump(exclude_none=True, exclude=_APART, warnings=False)
    for name in _SHARED:
        value = getattr(request.config, name, None)
        if value is not None:
            fields.setdefault(name, plain(value))
    voice = speech or config.speech_config or request.config.speech_config
    if voice is not None:
        fields["speech_config"] = plain(voice)
    instruction = request.config.system_instruction
    if instruction:
        fields["system_instruction"] = _instruction(instruction)
    tools = request.config.tools
    if tools:
        fields["tools"] = [_tool(plain(tool), report, vertex=vertex) for tool in tools]
    resumption = config.session_resumption
    if resumption is not None:
        fields["session_resumption"] = _resumption(resumption.handle, resumption.transparent, report, vertex=vertex)
    if vertex and config.labels:
        fields["labels"] = config.labels
    options = config.http_options or request.config.http_options
    if options is not None and options.headers:
        fields["http_options"] = {"headers": dict(options.headers)}
    return fields


def supported(config: Json, fields: Container[str], report: Report) -> Json:
    """The part of a configuration that the installed SDK knows: releases before the latest have fewer `fields`."""
    for name in config:
        if name not in fields:
            report(name, f"the installed google-genai has no {name}; it is left out: pip install -U google-genai")
    return {name: value for name, value in config.items() if name in fields}


def _instruction(instruction: object) -> object:
    """A system instruction as a content of the role system."""
    if isinstance(instruction, str):
        return {"role": "system", "parts": [{"text": instruction}]}
    content = plain(instruction)
    return {**content, "role": "system"} if isinstance(content, dict) and "parts" in content else content


def _resumption(handle: str | None, transparent: bool | None, report: Report, *, vertex: bool) -> Json:
    """Vertex AI says which input it has taken if resumption is transparent; the Gemini API has only a plain one."""
    if not vertex:
        if transparent:
            report("session_resumption", "the Gemini API has no transparent session resumption; the plain kind is used")
        return {"handle": handle} if handle else {}
    option = {"transparent": True if transparent is None else transparent}
    return {"handle": handle, **option} if handle else option


def _tool(tool: object, report: Report, *, vertex: bool) -> object:
    """A tool; Vertex AI does not take the ``behavior`` of functions."""
    declarations = tool.get("function_declarations") if vertex and isinstance(tool, dict) else None
    for declaration in declarations or ():
        if declaration.pop("behavior", None) is not None:
            report("behavior", "Vertex AI has no non-blocking tools; the tool is declared like any other")
    return tool
