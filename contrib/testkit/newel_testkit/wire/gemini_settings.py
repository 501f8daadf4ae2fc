"""What Gemini's API refuses of tools, schemas and settings.

Rules from the API reference and the guides "Structured output", "Function calling", "Thinking" and "Safety settings".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from newel_kernel import Json
from newel_testkit.wire.gemini_turns import is_third
from newel_testkit.wire.schemas import RefusedError, camel_schema, check_valid, walk

_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_SCHEMA_MIMES = ("application/json", "text/x.enum")
_MODES = (None, "AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
_HARMS = {
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
}
_THRESHOLDS = {
    "BLOCK_NONE",
    "OFF",
    "BLOCK_ONLY_HIGH",
    "BLOCK_MEDIUM_AND_ABOVE",
    "BLOCK_LOW_AND_ABOVE",
    "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
}
_MOST_STOPS = 5


def bad_settings(body: Json, model: str, vertex: bool) -> Iterator[str]:
    """What is wrong with a request apart from its contents."""
    system = body.get("systemInstruction")
    if system is not None:
        if not system.get("parts"):
            yield "* GenerateContentRequest.system_instruction.parts: must not be empty."
        if any("text" not in part for part in system.get("parts") or ()):
            yield "Only text parts are supported in system_instruction."
    declarations = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    names = [one.get("name") for one in declarations]
    yield from _bad_declarations(declarations, names)
    yield from _bad_choice((body.get("toolConfig") or {}).get("functionCallingConfig") or {}, names)
    config = body.get("generationConfig") or {}
    yield from _bad_generation(config)
    if names and config.get("responseMimeType") == "application/json" and not (vertex or is_third(model)):
        yield "Function calling with a response mime type: 'application/json' is unsupported"
    yield from _bad_thinking(config.get("thinkingConfig") or {}, model)
    for setting in body.get("safetySettings") or ():
        if setting.get("category") not in _HARMS or setting.get("threshold") not in _THRESHOLDS:
            yield f"Invalid value at 'safety_settings': {setting}"


def _bad_declarations(declarations: list[Json], names: list[Any]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"Duplicate function declaration found: {name}"
        if not _FUNCTION_NAME.fullmatch(str(name)):
            yield f"Invalid function name {name!r}: must start with a letter or an underscore, and be at most 64 long."
    for index, one in enumerate(declarations):
        where = f"tools.function_declarations[{index}]"
        if one.get("parameters") is not None and one.get("parametersJsonSchema") is not None:
            yield f"{where}: parameters and parameters_json_schema are mutually exclusive."
        if one.get("parameters") is not None:
            yield from _bad_schema(one["parameters"], f"{where}.parameters", top=True)
        if "parametersJsonSchema" in one:
            yield from _bad_json_schema(one["parametersJsonSchema"], f"{where}.parameters_json_schema")


def _bad_choice(calling: Json, names: list[Any]) -> Iterator[str]:
    allowed = calling.get("allowedFunctionNames") or ()
    if calling.get("mode") not in _MODES:
        yield f"Invalid value at 'tool_config.function_calling_config.mode': {calling['mode']!r}"
    if allowed and calling.get("mode") not in ("ANY", "VALIDATED"):
        yield "Allowed function names may only be set when the mode is ANY or VALIDATED."
    for name in sorted(set(allowed) - set(names)):
        yield f"tool_config.function_calling_config.allowed_function_names: {name} is not declared"


def _bad_generation(config: Json) -> Iterator[str]:
    own, json_schema = config.get("responseSchema"), config.get("responseJsonSchema")
    if own is not None:
        yield from _bad_schema(own, "generation_config.response_schema")
    if json_schema is not None:
        yield from _bad_json_schema(json_schema, "generation_config.response_json_schema", top_object=False)
    if (own or json_schema) and config.get("responseMimeType") not in _SCHEMA_MIMES:
        yield "response_schema needs the response_mime_type application/json"
    if len(config.get("stopSequences") or ()) > _MOST_STOPS:
        yield f"generation_config.stop_sequences: at most {_MOST_STOPS}"
    for name, most in (("temperature", 2), ("topP", 1)):
        if config.get(name) is not None and not 0 <= config[name] <= most:
            yield f"generation_config.{name}: out of range"


def _bad_thinking(thinking: Json, model: str) -> Iterator[str]:
    if thinking.get("thinkingBudget") is not None and thinking.get("thinkingLevel"):
        yield "You can only set only one of thinking budget and thinking level."
    if thinking.get("thinkingLevel") and not is_third(model):
        yield "Thinking level is not supported for this model."


def _bad_json_schema(schema: Any, where: str, *, top_object: bool = True) -> Iterator[str]:
    try:
        check_valid(schema, where, top_object=top_object)
    except RefusedError as error:
        yield str(error)
        return
    for path, node in walk(schema):
        yield from _undefined(node, f"{where}{path}")


def _bad_schema(schema: Any, where: str, *, top: bool = False) -> Iterator[str]:
    """What is wrong with a schema of Gemini's own form. Its fields are known."""
    for path, node in walk(camel_schema(schema)):
        spot, kind = f"{where}{path}", str(node.get("type", "")).upper()
        at_top = top and path == "#"
        if at_top and not kind and not node.keys() & {"anyOf", "ref", "$ref"}:
            yield f"{spot}: schema type should be specified"
        if "enum" in node and not all(isinstance(one, str) for one in node["enum"]):
            yield f"Invalid value at '{spot}.enum' (TYPE_STRING)"
        if "enum" in node and kind != "STRING":
            yield f"{spot}.enum: only allowed for STRING type"
        if at_top and kind == "OBJECT" and node.get("properties") == {}:
            yield f"{spot}.properties: should be non-empty for OBJECT type"
        if kind == "ARRAY" and not node.keys() & {"items", "prefixItems"}:
            yield f"{spot}.items: missing field."
        yield from _undefined(node, spot)


def _undefined(node: Json, where: str) -> Iterator[str]:
    for name in node.get("required") or ():
        if name not in (node.get("properties") or {}):
            yield f"{where}.required: property {name!r} is not defined"
