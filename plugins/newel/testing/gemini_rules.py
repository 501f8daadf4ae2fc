"""What Gemini's API refuses: fields it does not know, and conversations whose turns do not fit together."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from newel.testing.schema_rules import bad_parameters
from newel_kernel import Json

#: Message -> field -> what it holds: a message, a list of messages (``[...]``), a map to messages (``{...}``),
#: ``bytes``, or "" for a plain value.
_FIELDS: dict[str, dict[str, str]] = {
    "Request": {"contents": "[Content]", "systemInstruction": "Content", "tools": "[Tool]", "toolConfig": "ToolConfig",
                "safetySettings": "[SafetySetting]", "generationConfig": "GenerationConfig"}
    | dict.fromkeys(["cachedContent", "model", "serviceTier", "store"], ""),
    "Content": {"role": "", "parts": "[Part]"},
    "Part": {"functionCall": "FunctionCall", "functionResponse": "FunctionResponse", "inlineData": "Blob",
             "fileData": "FileData", "thoughtSignature": "bytes"}
    | dict.fromkeys(["text", "thought", "executableCode", "codeExecutionResult", "toolCall", "toolResponse",
                     "videoMetadata", "partMetadata", "mediaResolution"], ""),
    "FunctionCall": dict.fromkeys(["id", "name", "args"], ""),
    "FunctionResponse": dict.fromkeys(["id", "name", "response", "willContinue", "scheduling", "parts"], ""),
    "Blob": {"mimeType": "", "data": "bytes"},
    "FileData": {"mimeType": "", "fileUri": ""},
    "Tool": {"functionDeclarations": "[FunctionDeclaration]"}
    | dict.fromkeys(["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch",
                     "computerUse", "googleMaps", "mcpServers"], ""),
    "FunctionDeclaration": {"parameters": "Schema", "response": "Schema"}
    | dict.fromkeys(["name", "description", "behavior", "parametersJsonSchema", "responseJsonSchema"], ""),
    "ToolConfig": {"functionCallingConfig": "FunctionCallingConfig", "retrievalConfig": "",
                   "includeServerSideToolInvocations": ""},
    "FunctionCallingConfig": {"mode": "", "allowedFunctionNames": ""},
    "SafetySetting": {"category": "", "threshold": ""},
    "ThinkingConfig": dict.fromkeys(["includeThoughts", "thinkingBudget", "thinkingLevel"], ""),
    "GenerationConfig": {"responseSchema": "Schema", "thinkingConfig": "ThinkingConfig"}
    | dict.fromkeys(["stopSequences", "responseMimeType", "responseJsonSchema", "responseModalities", "candidateCount",
                     "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty",
                     "responseLogprobs", "logprobs", "enableEnhancedCivicAnswers", "speechConfig", "imageConfig",
                     "mediaResolution", "audioTranscriptionConfig"], ""),
    "Schema": {"properties": "{Schema}", "items": "Schema", "anyOf": "[Schema]", "type": "type"}
    | dict.fromkeys(["format", "title", "description", "nullable", "enum", "maxItems", "minItems", "required",
                     "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example",
                     "propertyOrdering", "default", "minimum", "maximum"], ""),
}  # fmt: skip
#: What Vertex AI knows besides.
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
_DATA = ("text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode",
         "codeExecutionResult", "toolCall", "toolResponse")  # fmt: skip
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def refusal(body: object, *, vertex: bool = False, whole: bool = True) -> str | None:
    """Why the service would answer a request with 400, in its words where they are known; None if it would not.

    What is not `whole`, the start of a request that is to be cached, must only have fields that there are.
    """
    if not isinstance(body, dict):
        return "Invalid JSON payload received. Root element must be a message."
    unknown = next(_unknown(body, "Request", "", vertex), None)
    if unknown is not None or not whole:
        return unknown
    return next(_misfits(_camel(body), vertex), None)


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


def _camel(body: Json) -> Json:
    """`body` with camelCase names as far as the rules look at it; the service takes snake_case as well."""

    def renamed(value: Json) -> Json:
        return {to_camel(name): inner for name, inner in value.items()}

    new = renamed(body)
    new["contents"] = [
        {**renamed(c), "parts": [renamed(p) for p in renamed(c).get("parts", ())]} for c in new.get("contents") or ()
    ]
    return new


def _misfits(body: Json, vertex: bool) -> Iterator[str]:
    contents = body["contents"]
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
    for index, content in enumerate(contents):
        yield from _bad_content(content, index)
    yield from _bad_turns(contents)
    yield from _bad_tools(body, vertex)


def _bad_content(content: Json, index: int) -> Iterator[str]:
    if content.get("role", "user") not in ("user", "model", "function"):
        yield "Please use a valid role: user, model."
    if not content["parts"]:
        yield f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty."
    for number, part in enumerate(content["parts"]):
        if sum(name in part for name in _DATA) != 1:
            yield (
                f"* GenerateContentRequest.contents[{index}].parts[{number}].data: "
                "required oneof field 'data' must have one initialized field"
            )


def _bad_turns(contents: list[Json]) -> Iterator[str]:
    for index, content in enumerate(contents):
        calls = _named(content, "functionCall")
        before = contents[index - 1] if index else None
        if calls and (before is None or before.get("role", "user") == "model"):
            yield (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        called = _named(before, "functionCall") if before is not None else []
        responses = _named(content, "functionResponse")
        if responses and not called:
            yield "Please ensure that function response turn comes immediately after a function call turn."
        if called and len(called) != len(responses):
            yield (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if called and Counter(called) != Counter(responses):
            yield f"the function responses {sorted(responses)} do not answer the function calls {sorted(called)}"
    if contents and contents[-1].get("role", "user") == "model":
        yield "Please ensure that multiturn requests end with a user role or a function response."


def _named(content: Json, kind: str) -> list[str]:
    """Name and id of each call or response."""
    entries = (part[kind] for part in content["parts"] if kind in part)
    return [f"{one.get('name')} {one.get('id') or ''}".strip() for one in entries]


def _bad_tools(body: Json, vertex: bool) -> Iterator[str]:
    tools = [{to_camel(key): value for key, value in tool.items()} for tool in body.get("tools") or ()]
    declarations = [
        {to_camel(key): value for key, value in one.items()}
        for tool in tools
        for one in tool.get("functionDeclarations") or ()
    ]
    names = [one.get("name") for one in declarations]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"Duplicate function declaration found: {name}"
        if not _FUNCTION_NAME.fullmatch(str(name)):
            yield f"Invalid function name {name!r}: must start with a letter or an underscore."
    for index, one in enumerate(declarations):
        if "parametersJsonSchema" in one:
            where = f"tools.function_declarations[{index}].parameters_json_schema"
            yield from bad_parameters(one["parametersJsonSchema"], where)
    mime_type = (body.get("generationConfig") or {}).get("responseMimeType")
    if names and mime_type == "application/json" and not vertex:
        yield "Function calling with a response mime type: 'application/json' is unsupported"
