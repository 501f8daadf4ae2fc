"""What ``interactions.create`` of the SDK is called with for an LlmRequest."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable, Iterator
from typing import Any

from newel.models.offline.schemas import json_schema
from newel_kernel import LlmRequest
from newel_kernel import FeatureUnavailableError
from newel_types import GenerateContentConfig
from newel_types import Content, Part
from newel_types import Tool

logger = logging.getLogger(__name__)

Json = dict[str, Any]

#: Settings that have the same name there.
_SAME = ("temperature", "top_p", "seed", "stop_sequences", "max_output_tokens")
#: Settings that have no counterpart there.
_WITHOUT = (
    "top_k", "candidate_count", "presence_penalty", "frequency_penalty", "response_logprobs", "logprobs",
    "media_resolution", "audio_timestamp", "speech_config", "image_config", "routing_config", "model_selection_config",
)  # fmt: skip
#: The service's own tools that it has there too.
_OWN_TOOLS = ("google_search", "google_maps", "code_execution", "url_context", "computer_use")
_MEDIA = ("image", "audio", "video")
#: What was warned of, which is told once for each setting.
_told: set[str] = set()


def arguments(request: LlmRequest, contents: list[Content], model: str, *, vertex: bool) -> Json:
    """Keyword arguments for the SDK; `request` stays as it is. `contents` end with the user's."""
    config = request.config
    _warn(config)
    given: Json = {
        "model": model,
        "input": list(steps(since_last_answer(contents) if request.previous_interaction_id else contents)),
        "previous_interaction_id": request.previous_interaction_id,
        "system_instruction": "\n\n".join(_texts(config.system_instruction)),
        "tools": [tool for one in config.tools or () for tool in _tools(one)],
        "generation_config": _generation(config),
        "response_format": _response_format(config),
        "response_modalities": [modality.lower() for modality in config.response_modalities or ()],
        "safety_settings": [_safety(setting) for setting in config.safety_settings or ()],
        "cached_content": config.cached_content,
        "service_tier": config.service_tier.value if config.service_tier is not None else None,
        "labels": config.labels if vertex else None,
        **_http(config),
    }
    given = {name: value for name, value in given.items() if value}
    if config.store is not None:
        given["store"] = config.store
    return given


def since_last_answer(contents: list[Content]) -> list[Content]:
    """The contents after the model's last one, which the service does not know yet.

    The signatures of that one go along: models from Gemini 3 on check that they come back.
    """
    begin = len(contents)
    while begin and contents[begin - 1].role == "user":
        begin -= 1
    before = contents[begin - 1].parts or () if begin else ()
    signed = [Part(thought=True, thought_signature=part.thought_signature) for part in before if part.thought_signature]
    latest = contents[begin:]
    return [Content(role="model", parts=signed), *latest] if signed else latest


def steps(contents: Iterable[Content]) -> Iterator[Json]:
    """The steps that contents are; what one side says in a row is one step."""
    calls = _Calls()
    spoken: Json | None = None
    for content in contents:
        kind = "model_output" if content.role == "model" else "user_input"
        for part in content.parts or ():
            said = _said(part)
            if said is not None and spoken is not None and spoken["type"] == kind:
                spoken["content"].append(said)
                continue
            if spoken is not None:
                yield spoken
            spoken = {"type": kind, "content": [said]} if said is not None else None
            if said is None:
                yield from _step(part, calls)
    if spoken is not None:
        yield spoken


class _Calls:
    """Ids for calls and results that have none: those of another API, whose order tells what belongs together."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[str | None, list[str]] = {}

    def called(self, name: str | None, id: str | None) -> str:
        self._count += 1
        made = id or f"call_{self._count}"
        self._open.setdefault(name, []).append(made)
        return made

    def answered(self, name: str | None, id: str | None) -> str:
        waiting = self._open.get(name, [])
        if id is None:
            return waiting.pop(0) if waiting else f"call_of_{name}"
        if id in waiting:
            waiting.remove(id)
        return id


def _said(part: Part) -> Json | None:
    """A part that is text or a medium, as a piece of a step."""
    if part.thought:
        return None
    if part.text is not None:
        return {"type": "text", "text": part.text}
    if part.inline_data is not None:
        data = base64.b64encode(part.inline_data.data or b"").decode()
        return _medium(part.inline_data.mime_type, "data", data)
    if part.file_data is not None:
        return _medium(part.file_data.mime_type, "uri", part.file_data.file_uri)
    return None


def _medium(mime_type: str | None, where: str, value: str | None) -> Json:
    kind = (mime_type or "").partition("/")[0]
    told = {"type": kind if kind in _MEDIA else "document", where: value}
    return {**told, "mime_type": mime_type} if mime_type else told


def _step(part: Part, calls: _Calls) -> Iterator[Json]:
    """A part that is a step of its own. A thought without a signature is refused there, and left out."""
    if part.thought_signature is not None:
        yield {"type": "thought", "signature": base64.b64encode(part.thought_signature).decode()}
    if (call := part.function_call) is not None:
        id = calls.called(call.name, call.id)
        yield {"type": "function_call", "id": id, "name": call.name, "arguments": call.args or {}}
    elif (response := part.function_response) is not None:
        result = response.response if response.response is not None else {}
        step = {"type": "function_result", "call_id": calls.answered(response.name, response.id), "result": result}
        yield {**step, "name": response.name, **({"is_error": True} if "error" in result else {})}
    elif (code := part.executable_code) is not None:
        arguments = {"language": "python", "code": code.code}
        yield {"type": "code_execution_call", "id": calls.called("code", code.id), "arguments": arguments}
    elif (ran := part.code_execution_result) is not None:
        step = {"type": "code_execution_result", "call_id": calls.answered("code", ran.id), "result": ran.output or ""}
        yield {**step, **({} if str(ran.outcome).endswith("OK") else {"is_error": True})}


def _texts(instruction: Any) -> Iterator[str]:
    """The texts of a system instruction."""
    if isinstance(instruction, str):
        yield instruction
    elif isinstance(instruction, list):
        for one in instruction:
            yield from _texts(one)
    elif instruction is not None:
        parts = getattr(instruction, "parts", None) or [instruction]
        yield from (part.text for part in parts if getattr(part, "text", None))


def _tools(tool: Any) -> Iterator[Json]:
    """The tools of one entry of the configuration."""
    if not isinstance(tool, Tool):
        raise _not_there(type(tool).__name__)
    yield from map(_function, tool.function_declarations or ())
    for name in tool.model_fields_set - {"function_declarations"}:
        if getattr(tool, name) is None:
            continue
        if name not in _OWN_TOOLS:
            raise _not_there(name)
        yield {"type": name}


def _not_there(tool: str) -> FeatureUnavailableError:
    return FeatureUnavailableError(
        f"the tool {tool} cannot be used through the Interactions API; remove it, or unset use_interactions_api"
    )


def _function(declared: Any) -> Json:
    schema = declared.parameters_json_schema if declared.parameters_json_schema is not None else declared.parameters
    made: Json = {"type": "function", "name": declared.name}
    if declared.description:
        made["description"] = declared.description
    if schema is not None:
        made["parameters"] = _nullable(json_schema(schema))
    return made


def _nullable(schema: Any) -> Any:
    """JSON schema says in the type what the service's dialect says with ``nullable``."""
    if isinstance(schema, list):
        return [_nullable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _nullable(value) for name, value in schema.items() if name not in ("nullable", "property_ordering")}
    if schema.get("nullable") is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    return made


def _generation(config: GenerateContentConfig) -> Json:
    made = {name: value for name in _SAME if (value := getattr(config, name)) is not None}
    thinking = config.thinking_config
    if thinking is not None and thinking.thinking_level is not None:
        made["thinking_level"] = thinking.thinking_level.value.lower()
    if thinking is not None and thinking.include_thoughts is not None:
        made["thinking_summaries"] = "auto" if thinking.include_thoughts else "none"
    calling = config.tool_config.function_calling_config if config.tool_config is not None else None
    if calling is not None and calling.mode is not None:
        made["tool_choice"] = mode = calling.mode.value.lower()
        if calling.allowed_function_names:
            made["tool_choice"] = {"allowed_tools": {"mode": mode, "tools": calling.allowed_function_names}}
    return made


def _response_format(config: GenerateContentConfig) -> Json | None:
    schema = config.response_json_schema if config.response_json_schema is not None else config.response_schema
    if schema is None and config.response_mime_type is None:
        return None
    made: Json = {"type": "text", "mime_type": config.response_mime_type or "application/json"}
    return made if schema is None else {**made, "schema": _nullable(json_schema(schema))}


def _safety(setting: Any) -> Json:
    kind = setting.category.value.removeprefix("HARM_CATEGORY_").lower()
    return {"type": kind, "threshold": setting.threshold.value.lower()}


def _http(config: GenerateContentConfig) -> Json:
    options = config.http_options
    if options is None:
        return {}
    return {
        "extra_headers": options.headers,
        "extra_body": options.extra_body,
        "api_version": options.api_version,
        "timeout": options.timeout / 1000 if options.timeout else None,
    }


def _warn(config: GenerateContentConfig) -> None:
    """Say once of each setting that it has no effect."""
    unused = [name for name in _WITHOUT if getattr(config, name) is not None]
    if config.thinking_config is not None and config.thinking_config.thinking_budget is not None:
        unused.append("thinking_config.thinking_budget")
    if new := [name for name in unused if name not in _told]:
        _told.update(new)
        logger.warning("the Interactions API has no counterpart of %s: it is not sent", ", ".join(new))
