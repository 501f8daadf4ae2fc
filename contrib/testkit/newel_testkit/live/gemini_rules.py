"""Rules: what the Gemini Live API refuses of a client's messages."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection

from newel_kernel import Json
from newel_testkit.live.connection import Connection
from newel_testkit.live.server import RefusedError

KINDS = ("setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate")
_SETUP = {
    "model",
    "generationConfig",
    "systemInstruction",
    "tools",
    "realtimeInputConfig",
    "sessionResumption",
    "contextWindowCompression",
    "inputAudioTranscription",
    "outputAudioTranscription",
    "proactivity",
    "historyConfig",
    "explicitVadSignal",
    "safetySettings",
    "avatarConfig",
}
_GENERATION = {
    "responseModalities",
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "candidateCount",
    "presencePenalty",
    "frequencyPenalty",
    "speechConfig",
    "mediaResolution",
    "seed",
    "thinkingConfig",
    "enableAffectiveDialog",
    "translationConfig",
    "responseFormat",
}
_REALTIME = {"mediaChunks", "audio", "video", "audioStreamEnd", "text", "activityStart", "activityEnd"}
_RESPONSE = {"id", "name", "response", "scheduling", "willContinue", "parts"}
#: A part holds one of them.
_DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult")
_PART = {*_DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution"}
_AUDIO = re.compile(r"audio/(pcm|l16|x-raw)(;\s*rate=\d{4,6})?(;.*)?", re.IGNORECASE)
_MODEL = re.compile(r"(models|tunedModels)/[^/].*")
#: On Vertex AI: a model of a publisher, of a project unless an API key pays, or an endpoint.
_VERTEX_MODEL = re.compile(
    r"(projects/[^/]+/locations/[^/]+/)?publishers/[^/]+/models/[^/]+|projects/[^/]+/locations/[^/]+/endpoints/[^/]+"
)
_FUNCTION = re.compile(r"[A-Za-z_][\w.-]{0,63}")


def check(connection: Connection, message: Json, handles: Collection[str]) -> None:
    """Raise a RefusedError for a bad message; `handles` are resumable. The path says whether it is Vertex AI."""
    state = connection.state
    state["vertex"] = ".aiplatform." in connection.path
    _keys("", message, set(KINDS))
    if len(message) != 1:
        raise RefusedError(f"a client message holds exactly one of {', '.join(KINDS)}; got {sorted(message)}")
    kind, value = next(iter(message.items()))
    if ("setup" in state) == (kind == "setup"):
        raise RefusedError("setup must be the first message, and only the first")
    if kind == "setup":
        _check_setup(state, value, handles)
    elif kind == "clientContent":
        _check_content(value)
    elif kind == "realtimeInput":
        _check_realtime(state, value)
    elif kind == "toolResponse":
        _check_responses(state, value)


def _keys(what: str, value: object, allowed: Collection[str]) -> None:
    if not isinstance(value, dict):
        raise RefusedError(f"Invalid value at '{what}': an object is expected")
    for key in value:
        if key not in allowed:
            raise RefusedError(f"Invalid JSON payload received. Unknown name \"{key}\" at '{what}': Cannot find field.")


def _check_content(value: Json) -> None:
    _keys("client_content", value, {"turns", "turnComplete"})
    for number, turn in enumerate(value.get("turns") or []):
        _turn(f"client_content.turns[{number}]", turn)
        if turn.get("role") != "user" and any("functionResponse" in part for part in turn.get("parts") or []):
            raise RefusedError("a function response belongs to a user turn")


def _turn(what: str, turn: Json) -> None:
    _keys(what, turn, {"role", "parts"})
    if turn.get("role") not in (None, "user", "model", "system"):
        raise RefusedError(f"Invalid role {turn.get('role')!r} at '{what}'")
    for number, part in enumerate(turn.get("parts") or []):
        place = f"{what}.parts[{number}]"
        _keys(place, part, _PART)
        kinds = [kind for kind in _DATA if kind in part]
        if len(kinds) > 1:
            raise RefusedError(f"{place} holds {kinds}: one is allowed")
        if part.get("inlineData", {}).get("mimeType", "").startswith("audio/"):
            raise RefusedError(f"{place}: audio is not accepted in client content; use realtimeInput")


def _check_realtime(state: Json, value: Json) -> None:
    _keys("realtime_input", value, _REALTIME)
    if not value:
        raise RefusedError("realtime_input is empty")
    for number, chunk in enumerate(value.get("mediaChunks") or []):
        _blob(f"realtime_input.media_chunks[{number}]", chunk, ("audio/", "image/", "video/"))
    if "audio" in value:
        _blob("realtime_input.audio", value["audio"], ("audio/",))
    if "video" in value:
        _blob("realtime_input.video", value["video"], ("image/", "video/"))
    if ("activityStart" in value or "activityEnd" in value) and not state["manual"]:
        raise RefusedError("Explicit activity control is not supported when automatic activity detection is enabled.")


def _blob(what: str, blob: Json, prefixes: tuple[str, ...]) -> None:
    _keys(what, blob, {"data", "mimeType", "displayName"})
    mime, text = blob.get("mimeType") or "", blob.get("data") or ""
    if not mime.startswith(prefixes):
        raise RefusedError(f"Unsupported mime type {mime!r} at '{what}'")
    if mime.startswith("audio/") and not _AUDIO.fullmatch(mime):
        raise RefusedError(f"Unsupported audio format {mime!r} at '{what}': raw 16-bit PCM is expected")
    try:
        data = base64.b64decode(text, altchars=b"-_" if re.search("[-_]", text) else None, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(f"Invalid base64 at '{what}.data'") from None
    if mime.startswith("audio/") and len(data) % 2:
        raise RefusedError(f"'{what}.data' holds half a sample ({len(data)} bytes)")


def _check_responses(state: Json, value: Json) -> None:
    _keys("tool_response", value, {"functionResponses"})
    for number, response in enumerate(value.get("functionResponses") or []):
        place = f"tool_response.function_responses[{number}]"
        _keys(place, response, _RESPONSE)
        id_ = response.get("id")
        if not id_ or id_ not in state["calls"]:
            raise RefusedError(f"{place}: no call with id {id_!r}")
        if not isinstance(response.get("response"), dict):
            raise RefusedError(f"{place}.response must be an object")
        if id_ in state["answered"]:
            state["repeated"].append(id_)
        if not response.get("willContinue"):
            state["answered"].append(id_)


def _check_setup(state: Json, setup: Json, handles: Collection[str]) -> None:
    vertex = state["vertex"]
    _keys("setup", setup, _SETUP | {"labels"} if vertex else _SETUP)
    if not (_VERTEX_MODEL if vertex else _MODEL).fullmatch(setup.get("model") or ""):
        raise RefusedError(f"setup.model {setup.get('model')!r} is not the name of a model")
    generation = setup.get("generationConfig") or {}
    _keys("setup.generation_config", generation, _GENERATION)
    modalities = generation.get("responseModalities") or []
    if not set(modalities) <= {"TEXT", "AUDIO", "VIDEO"}:
        raise RefusedError(f"setup.generation_config.response_modalities: {modalities}")
    if len(modalities) > 1:
        raise RefusedError("at most one response modality is allowed in a session")
    if "systemInstruction" in setup:
        _turn("setup.system_instruction", setup["systemInstruction"])
    _check_tools(setup, vertex=vertex)
    detection = (setup.get("realtimeInputConfig") or {}).get("automaticActivityDetection") or {}
    state.update(
        setup=setup,
        manual=bool(detection.get("disabled")),
        calls=[],
        answered=[],
        repeated=[],
        modality=(modalities or ["AUDIO"])[0],
        resumed=_check_resumption(setup, handles, vertex=vertex),
    )


def _check_resumption(setup: Json, handles: Collection[str], *, vertex: bool) -> str | None:
    """The handle that is resumed."""
    resumed = setup.get("sessionResumption") or {}
    _keys("setup.session_resumption", resumed, {"handle", "transparent"})
    if resumed.get("transparent") and not vertex:
        raise RefusedError("transparent session resumption is not supported by the Gemini API")
    handle: str | None = resumed.get("handle")
    if handle and handle not in handles:
        raise RefusedError("BidiGenerateContent session not found", 1008)
    return handle


def _check_tools(setup: Json, *, vertex: bool) -> None:
    for tool in setup.get("tools") or []:
        for declaration in tool.get("functionDeclarations") or []:
            if not _FUNCTION.fullmatch(declaration.get("name", "")):
                raise RefusedError(f"setup.tools: the function name {declaration.get('name')!r} is not valid")
            if vertex and "behavior" in declaration:
                raise RefusedError("Invalid JSON payload received. Unknown name \"behavior\" at 'setup.tools'")
