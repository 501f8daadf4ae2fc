"""What Gemini's API refuses; in this module, fields that it does not know."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator
from typing import Any

from pydantic.alias_generators import to_camel

from newel_kernel import Json
from newel_testkit.wire.gemini_settings import bad_settings
from newel_testkit.wire.gemini_turns import bad_turns

#: Message -> field -> what it holds: a message, a list of messages (``[...]``), a map to messages (``{...}``),
#: ``bytes``, or "" for a plain value.
_FIELDS: dict[str, dict[str, str]] = {
    "Request": {
        "contents": "[Content]",
        "systemInstruction": "Content",
        "tools": "[Tool]",
        "toolConfig": "ToolConfig",
        "safetySettings": "[SafetySetting]",
        "generationConfig": "GenerationConfig",
    }
    | dict.fromkeys(["cachedContent", "model", "serviceTier", "store"], ""),
    "Content": {"role": "", "parts": "[Part]"},
    "Part": {
        "functionCall": "FunctionCall",
        "functionResponse": "FunctionResponse",
        "inlineData": "Blob",
        "fileData": "FileData",
        "thoughtSignature": "bytes",
    }
    | dict.fromkeys(
        [
            "text",
            "thought",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
            "videoMetadata",
            "partMetadata",
            "mediaResolution",
        ],
        "",
    ),
    "FunctionCall": dict.fromkeys(["id", "name", "args"], ""),
    "FunctionResponse": dict.fromkeys(["id", "name", "response", "willContinue", "scheduling", "parts"], ""),
    "Blob": {"mimeType": "", "data": "bytes"},
    "FileData": {"mimeType": "", "fileUri": ""},
    "Tool": {"functionDeclarations": "[FunctionDeclaration]"}
    | dict.fromkeys(
        [
            "googleSearch",
            "googleSearchRetrieval",
            "codeExecution",
            "urlContext",
            "fileSearch",
            "computerUse",
            "googleMaps",
            "mcpServers",
        ],
        "",
    ),
    "FunctionDeclaration": {"parameters": "Schema", "response": "Schema"}
    | dict.fromkeys(["name", "description", "behavior", "parametersJsonSchema", "responseJsonSchema"], ""),
    "ToolConfig": {
        "functionCallingConfig": "FunctionCallingConfig",
        "retrievalConfig": "",
        "includeServerSideToolInvocations": "",
    },
    "FunctionCallingConfig": {"mode": "", "allowedFunctionNames": ""},
    "SafetySetting": {"category": "", "threshold": ""},
    "ThinkingConfig": dict.fromkeys(["includeThoughts", "thinkingBudget", "thinkingLevel"], ""),
    "GenerationConfig": {"responseSchema": "Schema", "thinkingConfig": "ThinkingConfig"}
    | dict.fromkeys(
        [
            "stopSequences",
            "responseMimeType",
            "responseJsonSchema",
            "responseModalities",
            "candidateCount",
            "maxOutputTokens",
            "temperature",
            "topP",
            "topK",
            "seed",
            "presencePenalty",
            "frequencyPenalty",
            "responseLogprobs",
            "logprobs",
            "enableEnhancedCivicAnswers",
            "speechConfig",
            "imageConfig",
            "mediaResolution",
            "audioTranscriptionConfig",
        ],
        "",
    ),
    "Schema": {"properties": "{Schema}", "items": "Schema", "anyOf": "[Schema]", "type": "type"}
    | dict.fromkeys(
        [
            "format",
            "title",
            "description",
            "nullable",
            "enum",
            "maxItems",
            "minItems",
            "required",
            "minProperties",
            "maxProperties",
            "minLength",
            "maxLength",
            "pattern",
            "example",
            "propertyOrdering",
            "default",
            "minimum",
            "maximum",
        ],
        "",
    ),
}
#: Further fields that Vertex AI knows.
_VERTEX_FIELDS: dict[str, dict[str, str]] = {
    "Request": {"labels": "", "modelArmorConfig": ""},
    "FunctionCall": {"partialArgs": "", "willContinue": ""},
    "Blob": {"displayName": ""},
    "FileData": {"displayName": ""},
    "Tool": dict.fromkeys(["retrieval", "enterpriseWebSearch", "parallelAiSearch", "exaAiSearch"], ""),
    "FunctionCallingConfig": {"streamFunctionCallArguments": ""},
    "SafetySetting": {"method": ""},
    "GenerationConfig": dict.fromkeys(["audioTimestamp", "routingConfig", "modelConfig"], ""),
    "Schema": dict.fromkeys(["additionalProperties", "defs", "ref"], ""),
}
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
#: The service does not define what is below these fields.
_FREE = {
    "args",
    "response",
    "parameters",
    "parametersJsonSchema",
    "responseJsonSchema",
    "responseSchema",
    "properties",
    "partMetadata",
}


def refusal(
    body: object, *, model: str = "", vertex: bool = False, whole: bool = True, issued: Collection[bytes] | None = None
) -> str | None:
    """Why the service would answer a request with 400, in its words if they are known; None if it would not.

    A body that is not `whole` is the start of a request, to be cached, and must only have known fields. `issued` are
    the thought signatures that the service gave, next to those of `gemini_turns.signature`; None: any one will do.
    """
    if not isinstance(body, dict):
        return "Invalid JSON payload received. Root element must be a message."
    unknown = next(_unknown(body, "Request", "", vertex), None)
    if unknown is not None or not whole:
        return unknown
    return next(_misfits(camel(body), model, vertex, issued), None)


def camel(value: Any, key: str = "") -> Any:
    """A message with the service's spelling of keys; clients may send snake_case."""
    if key in _FREE:
        return value
    if isinstance(value, dict):
        return {to_camel(name): camel(inner, to_camel(name)) for name, inner in value.items()}
    return [camel(inner) for inner in value] if isinstance(value, list) else value


def _misfits(body: Json, model: str, vertex: bool, issued: Collection[bytes] | None) -> Iterator[str]:
    yield from bad_turns(body.get("contents") or [], model, issued)
    yield from bad_settings(body, model, vertex)


def _unknown(value: object, kind: str, path: str, vertex: bool) -> Iterator[str]:
    """What does not fit the message `kind`; `path` says where `value` is."""
    if kind in ("", "bytes", "type"):
        yield from _bad_value(value, kind, path)
    elif kind.startswith("["):
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            yield from _unknown(item, kind[1:-1], f"{path}[{index}]", vertex)
    elif not isinstance(value, dict):
        yield f"Invalid value at '{path}' ({kind}), {value!r}"
    elif kind.startswith("{"):
        for name, item in value.items():
            yield from _unknown(item, kind[1:-1], f"{path}[{name!r}]", vertex)
    else:
        fields = _FIELDS[kind] | (_VERTEX_FIELDS.get(kind, {}) if vertex else {})
        for name, item in value.items():
            inner = fields.get(to_camel(name))
            if inner is None:
                where = f" at '{path}'" if path else ""
                yield f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'
            else:
                yield from _unknown(item, inner, f"{path}.{name}".lstrip("."), vertex)


def _bad_value(value: object, kind: str, path: str) -> Iterator[str]:
    if kind == "type" and str(value).upper() not in _TYPES:
        yield f"Invalid value at '{path}' (type.googleapis.com/google.ai.generativelanguage.Type), {value!r}"
    if kind == "bytes":
        try:
            base64.b64decode(str(value).replace("-", "+").replace("_", "/"), validate=True)
        except binascii.Error:
            yield f"Invalid value at '{path}' (TYPE_BYTES), Base64 decoding failed for {value!r}"
