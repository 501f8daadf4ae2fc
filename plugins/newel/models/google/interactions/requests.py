"""Requests: the arguments of the SDK's ``interactions.create`` for an LlmRequest."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from newel.models.google.interactions.steps import steps_of
from newel.models.google.request_keys import PREVIOUS_INTERACTION
from newel.models.google.sdk import Json
from newel.models.json_schemas import json_schema
from newel.models.wire.instruction import texts_of
from newel_kernel import FeatureUnavailableError, LlmRequest
from newel_types import Content, FunctionDeclaration, GenerateContentConfig, Part, SafetySetting, Tool

logger = logging.getLogger(__name__)

#: Settings that have the same name in the Interactions API.
_SAME = ("temperature", "top_p", "seed", "stop_sequences", "max_output_tokens")
#: Settings that have no counterpart in it.
_WITHOUT = (
    "top_k",
    "candidate_count",
    "presence_penalty",
    "frequency_penalty",
    "response_logprobs",
    "logprobs",
    "media_resolution",
    "audio_timestamp",
    "speech_config",
    "image_config",
    "routing_config",
    "model_selection_config",
)
#: The service's own tools that it has too.
_OWN_TOOLS = ("google_search", "google_maps", "code_execution", "url_context", "computer_use")
#: The settings that were warned about; each gets one warning.
_warned: set[str] = set()


def arguments(request: LlmRequest, contents: list[Content], model: str, *, vertex: bool) -> Json:
    """Keyword arguments for the SDK; `request` is not changed. `contents` end with a content of the user."""
    config, previous = request.config, request.stash.get(PREVIOUS_INTERACTION, None)
    _warn(config)
    fields: Json = {
        "model": model,
        "input": list(steps_of(since_last_answer(contents) if previous else contents)),
        "previous_interaction_id": previous,
        "system_instruction": "\n\n".join(texts_of(config.system_instruction)),
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
    fields = {name: value for name, value in fields.items() if value}
    if config.store is not None:
        fields["store"] = config.store
    return fields


def since_last_answer(contents: list[Content]) -> list[Content]:
    """The contents after the model's last one, which the service does not have yet.

    The signatures of the model's last content are sent too: models from Gemini 3 on check that they come back.
    """
    start = len(contents)
    while start and contents[start - 1].role == "user":
        start -= 1
    before = contents[start - 1].parts or () if start else ()
    signed = [Part(thought=True, thought_signature=part.thought_signature) for part in before if part.thought_signature]
    latest = contents[start:]
    return [Content(role="model", parts=signed), *latest] if signed else latest


def _tools(tool: object) -> Iterator[Json]:
    """The tools of one entry of the configuration."""
    if not isinstance(tool, Tool):
        raise _unavailable(type(tool).__name__)
    yield from map(_function, tool.function_declarations or ())
    for name in tool.model_fields_set - {"function_declarations"}:
        if getattr(tool, name) is None:
            continue
        if name not in _OWN_TOOLS:
            raise _unavailable(name)
        yield {"type": name}


def _unavailable(tool: str) -> FeatureUnavailableError:
    return FeatureUnavailableError(
        f"the tool {tool} cannot be used through the Interactions API; remove it, or unset use_interactions_api"
    )


def _function(declaration: FunctionDeclaration) -> Json:
    schema = declaration.parameters_json_schema
    schema = schema if schema is not None else declaration.parameters
    function: Json = {"type": "function", "name": declaration.name}
    if declaration.description:
        function["description"] = declaration.description
    if schema is not None:
        function["parameters"] = _nullable(json_schema(schema))
    return function


def _nullable(schema: object) -> object:
    """The schema with ``nullable``, a word of the service's dialect, as the type ``null`` of JSON schema."""
    if isinstance(schema, list):
        return [_nullable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _nullable(value) for name, value in schema.items() if name not in ("nullable", "property_ordering")}
    if schema.get("nullable") is True and isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
    return plain


def _generation(config: GenerateContentConfig) -> Json:
    settings = {name: value for name in _SAME if (value := getattr(config, name)) is not None}
    thinking = config.thinking_config
    if thinking is not None and thinking.thinking_level is not None:
        settings["thinking_level"] = thinking.thinking_level.value.lower()
    if thinking is not None and thinking.include_thoughts is not None:
        settings["thinking_summaries"] = "auto" if thinking.include_thoughts else "none"
    calling = config.tool_config.function_calling_config if config.tool_config is not None else None
    if calling is not None and calling.mode is not None:
        settings["tool_choice"] = mode = calling.mode.value.lower()
        if calling.allowed_function_names:
            settings["tool_choice"] = {"allowed_tools": {"mode": mode, "tools": calling.allowed_function_names}}
    return settings


def _response_format(config: GenerateContentConfig) -> Json | None:
    schema = config.response_json_schema if config.response_json_schema is not None else config.response_schema
    if schema is None and config.response_mime_type is None:
        return None
    form: Json = {"type": "text", "mime_type": config.response_mime_type or "application/json"}
    return form if schema is None else {**form, "schema": _nullable(json_schema(schema))}


def _safety(setting: SafetySetting) -> Json:
    kind = setting.category.value.removeprefix("HARM_CATEGORY_").lower() if setting.category is not None else None
    return {"type": kind, "threshold": setting.threshold.value.lower() if setting.threshold is not None else None}


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
    """Warn once about each setting that has no effect."""
    unused = [name for name in _WITHOUT if getattr(config, name) is not None]
    if config.thinking_config is not None and config.thinking_config.thinking_budget is not None:
        unused.append("thinking_config.thinking_budget")
    if new := [name for name in unused if name not in _warned]:
        _warned.update(new)
        logger.warning("the Interactions API has no counterpart for %s: it is not sent", ", ".join(new))
