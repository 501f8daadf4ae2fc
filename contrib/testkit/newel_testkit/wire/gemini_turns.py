"""What Gemini's API refuses of a conversation.

Rules from the API reference ("Generating content") and the guides "Function calling" and "Thought signatures".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator

from newel_kernel import Json

_DATA = (
    "text",
    "inlineData",
    "functionCall",
    "functionResponse",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
_PROOF = b"gemini-sig:\xff\xfe"
#: Values that switch the check off, for the history of another model.
_STAND_INS = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
_THIRD = re.compile(r"(.*/)?gemini-([3-9]|\d\d).*")

#: A role, and the parts of the neighbouring contents that have it.
Turn = tuple[str, list[Json]]


def is_third(model: str) -> bool:
    """Whether a model is of the third generation or newer: calls must come back signed, results may hold media."""
    return _THIRD.fullmatch(model) is not None


def signature(words: str) -> str:
    """The signature that the service gives to a thought, and verifies when it comes back."""
    return base64.b64encode(_PROOF + hashlib.sha256(words.encode()).digest()[:16]).decode()


def bad_turns(contents: list[Json], model: str, issued: Collection[bytes] | None) -> Iterator[str]:
    """What is wrong with the contents of a request. `issued` are signatures that are known; None: all are."""
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
    for index, content in enumerate(contents):
        yield from _bad_content(content, index, third=is_third(model), issued=issued)
    turns = _turns(contents)
    for index, turn in enumerate(turns):
        yield from _bad_turn(turn, turns[index - 1] if index else None)
    if turns and turns[-1][0] == "model":
        yield "Please ensure that multiturn requests end with a user role or a function response."
    if is_third(model):
        yield from _unsigned(turns)


def _turns(contents: list[Json]) -> list[Turn]:
    """Neighbouring contents of one role count as one turn."""
    turns: list[Turn] = []
    for content in contents:
        role = "model" if content.get("role") == "model" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(content.get("parts") or ())
        else:
            turns.append((role, list(content.get("parts") or ())))
    return turns


def _bad_content(content: Json, index: int, *, third: bool, issued: Collection[bytes] | None) -> Iterator[str]:
    if content.get("role", "user") not in ("user", "model", "function"):
        yield "Please use a valid role: user, model."
    if not content.get("parts"):
        yield f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty."
    for number, part in enumerate(content.get("parts") or ()):
        where = f"contents[{index}].parts[{number}]"
        if sum(name in part for name in _DATA) != 1:
            yield f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized field"
        yield from _bad_part(part, where, third)
        if issued is not None and "thoughtSignature" in part and not _is_valid(part["thoughtSignature"], issued):
            yield f"Thought signature is not valid. ({where})"


def _bad_part(part: Json, where: str, third: bool) -> Iterator[str]:
    if "inlineData" in part and not part["inlineData"].get("mimeType"):
        yield f"* GenerateContentRequest.{where}.inline_data.mime_type: missing"
    if "functionCall" in part and not part["functionCall"].get("name"):
        yield f"* GenerateContentRequest.{where}.function_call.name: Name cannot be empty."
    if "functionResponse" in part:
        response = part["functionResponse"]
        if not response.get("name"):
            yield f"* GenerateContentRequest.{where}.function_response.name: Name cannot be empty."
        if not isinstance(response.get("response"), dict):
            yield f"Invalid value at '{where}.function_response.response': must be an object"
        if response.get("parts") and not third:
            yield "Multimodal function responses are not supported by this model."


def _is_valid(value: str, issued: Collection[bytes]) -> bool:
    if value in _STAND_INS:
        return True
    try:
        data = signature_bytes(value)
    except binascii.Error:
        return False
    return data.startswith(_PROOF) or data in issued or data.decode("latin-1") in _STAND_INS


def signature_bytes(value: str) -> bytes:
    """The bytes of a signature, whichever alphabet of base64 it is in."""
    return base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)


def _bad_turn(turn: Turn, before: Turn | None) -> Iterator[str]:
    """What is wrong with a turn that follows `before`; results answer the calls of the turn right before them."""
    calls, responses = _names(turn, "functionCall"), _names(turn, "functionResponse")
    if (responses and turn[0] == "model") or (calls and turn[0] == "user"):
        yield "function_call belongs to the role model, function_response to the role user"
    if calls and before is None:
        yield (
            "Please ensure that function call turn comes immediately after a user turn or after a function response "
            "turn."
        )
    called = _names(before, "functionCall") if before is not None else []
    if responses and not called:
        yield "Please ensure that function response turn comes immediately after a function call turn."
    if called and len(called) != len(responses):
        yield (
            "Please ensure that the number of function response parts is equal to the number of function call "
            "parts of the function call turn."
        )
    if called and Counter(called) != Counter(responses):
        yield f"the function responses {sorted(responses)} do not answer the function calls {sorted(called)}"


def _names(turn: Turn, kind: str) -> list[str]:
    """Name and id of each call or response."""
    entries = (part[kind] for part in turn[1] if kind in part)
    return [f"{one.get('name')} {one.get('id') or ''}".strip() for one in entries]


def _unsigned(turns: list[Turn]) -> Iterator[str]:
    """The first call of each step since the user's latest words must have its signature."""
    start = max((number for number, turn in enumerate(turns) if _has_words(turn)), default=0)
    for number, (role, parts) in enumerate(turns[start:], start):
        first = next((part for part in parts if "functionCall" in part), None)
        if role == "model" and first is not None and not first.get("thoughtSignature"):
            name = first["functionCall"].get("name")
            yield f"Function call `{name}` in the {number + 1}. content block is missing a `thought_signature`."


def _has_words(turn: Turn) -> bool:
    return turn[0] == "user" and any("functionResponse" not in part for part in turn[1])
