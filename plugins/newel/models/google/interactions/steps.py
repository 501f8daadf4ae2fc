"""Steps: the pieces of an interaction, made from contents and read as parts."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

from newel.models.google.sdk import Json
from newel_types import Content, FunctionCall, Part

_MEDIA = ("image", "audio", "video")
#: Steps that repeat the input of the interaction.
_INPUT = ("user_input", "function_result")


def steps_of(contents: Iterable[Content]) -> Iterator[Json]:
    """The steps of contents; consecutive text and media of one side are one step."""
    calls = _Calls()
    speech: Json | None = None
    for content in contents:
        kind = "model_output" if content.role == "model" else "user_input"
        for part in content.parts or ():
            piece = _piece(part)
            if piece is not None and speech is not None and speech["type"] == kind:
                speech["content"].append(piece)
                continue
            if speech is not None:
                yield speech
            speech = {"type": kind, "content": [piece]} if piece is not None else None
            if piece is None:
                yield from _step(part, calls)
    if speech is not None:
        yield speech


class _Calls:
    """Ids for calls and results that have none: another API made them, and their order says which belong together."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[str | None, list[str]] = {}

    def call(self, name: str | None, id: str | None) -> str:
        """The id of the next call."""
        self._count += 1
        call_id = id or f"call_{self._count}"
        self._open.setdefault(name, []).append(call_id)
        return call_id

    def result(self, name: str | None, id: str | None) -> str:
        """The id of the call that the next result is for."""
        waiting = self._open.get(name, [])
        if id is None:
            return waiting.pop(0) if waiting else f"call_of_{name}"
        if id in waiting:
            waiting.remove(id)
        return id


def _piece(part: Part) -> Json | None:
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


def _medium(mime_type: str | None, field: str, value: str | None) -> Json:
    kind = (mime_type or "").partition("/")[0]
    piece: Json = {"type": kind if kind in _MEDIA else "document", field: value}
    return {**piece, "mime_type": mime_type} if mime_type else piece


def _step(part: Part, calls: _Calls) -> Iterator[Json]:
    """A part that is a step of its own. The service refuses a thought without a signature: it is left out."""
    if part.thought_signature is not None:
        yield {"type": "thought", "signature": base64.b64encode(part.thought_signature).decode()}
    if (call := part.function_call) is not None:
        id = calls.call(call.name, call.id)
        yield {"type": "function_call", "id": id, "name": call.name, "arguments": call.args or {}}
    elif (response := part.function_response) is not None:
        result = response.response if response.response is not None else {}
        step = {"type": "function_result", "call_id": calls.result(response.name, response.id), "result": result}
        yield {**step, "name": response.name, **({"is_error": True} if "error" in result else {})}
    elif (code := part.executable_code) is not None:
        arguments = {"language": "python", "code": code.code}
        yield {"type": "code_execution_call", "id": calls.call("code", code.id), "arguments": arguments}
    elif (outcome := part.code_execution_result) is not None:
        call_id = calls.result("code", outcome.id)
        step = {"type": "code_execution_result", "call_id": call_id, "result": outcome.output or ""}
        yield {**step, **({} if str(outcome.outcome).endswith("OK") else {"is_error": True})}


def parts_of(step: Json) -> list[Part]:
    """The parts of one step; a step that only the service needs has none."""
    kind = step.get("type")
    if kind in _INPUT:
        return []
    if kind == "model_output":
        return [part for piece in step.get("content") or () for part in parts_of_piece(piece)]
    if kind == "function_call":
        call = FunctionCall(id=step.get("id"), name=step.get("name"), args=step.get("arguments") or {})
        return [Part(function_call=call)]
    if kind == "thought":
        text = "".join(piece.get("text") or "" for piece in step.get("summary") or ())
        signature = base64.b64decode(step["signature"]) if step.get("signature") else None
        return [Part(text=text or None, thought=True, thought_signature=signature)] if text or signature else []
    if kind == "code_execution_call":
        code = step.get("arguments") or {}
        language = str(code.get("language") or "python").upper()
        return [Part.model_validate({"executable_code": {"code": code.get("code"), "language": language}})]
    if kind == "code_execution_result":
        outcome = "OUTCOME_FAILED" if step.get("is_error") else "OUTCOME_OK"
        result = {"output": step.get("result") or "", "outcome": outcome}
        return [Part.model_validate({"code_execution_result": result})]
    return []


def parts_of_piece(piece: Json) -> list[Part]:
    """The part of a piece of the model's output, or none."""
    if piece.get("type") == "text":
        return [Part(text=piece["text"])] if piece.get("text") else []
    mime_type = piece.get("mime_type")
    if piece.get("data"):
        data = base64.b64decode(piece["data"])
        return [Part.model_validate({"inline_data": {"data": data, "mime_type": mime_type}})]
    if piece.get("uri"):
        return [Part.model_validate({"file_data": {"file_uri": piece["uri"], "mime_type": mime_type}})]
    return []
