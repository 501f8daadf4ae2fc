"""Messages of the Gemini Live API, for scripts."""

from __future__ import annotations

import base64
from typing import Any

from newel_kernel import Json

#: 20 ms of sound at 24 kHz.
CHUNK = b"\x00\x01" * 480


def content(**fields: Any) -> Json:
    """A message of server content."""
    return {"serverContent": fields}


def text(*texts: str, thought: bool = False) -> Json:
    """Pieces of what the model writes, or thinks."""
    more = {"thought": True} if thought else {}
    return content(modelTurn={"role": "model", "parts": [{"text": one, **more} for one in texts]})


def audio(data: bytes = CHUNK, rate: int = 24_000) -> Json:
    """A chunk of what the model says."""
    blob = {"mimeType": f"audio/pcm;rate={rate}", "data": base64.b64encode(data).decode()}
    return content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})


def input_text(words: str, finished: bool | None = None) -> Json:
    """A piece of what the user was understood to say."""
    return content(inputTranscription=_transcription(words, finished))


def output_text(words: str, finished: bool | None = None) -> Json:
    """A piece of what the model says, as text."""
    return content(outputTranscription=_transcription(words, finished))


def turn_complete(**more: Any) -> Json:
    """The model's turn is over."""
    return content(turnComplete=True, **more)


def generation_complete() -> Json:
    """The model has finished its answer, which may still be playing."""
    return content(generationComplete=True)


def interrupted(**more: Any) -> Json:
    """The user has interrupted the model."""
    return content(interrupted=True, **more)


def tool_call(*calls: tuple[str, Json, str]) -> Json:
    """Calls, each a name, arguments and an id."""
    return {"toolCall": {"functionCalls": [{"name": name, "args": args, "id": id_} for name, args, id_ in calls]}}


def tool_cancel(*ids: str) -> Json:
    """Calls that need no answer any more."""
    return {"toolCallCancellation": {"ids": list(ids)}}


def go_away(seconds: float = 5) -> Json:
    """The connection will close."""
    return {"goAway": {"timeLeft": f"{seconds}s"}}


def resumption(handle: str, *, resumable: bool = True, consumed: int | None = None) -> Json:
    """A handle by which the session can be resumed; `consumed`: the index of the last message that was taken."""
    index = {} if consumed is None else {"lastConsumedClientMessageIndex": str(consumed)}
    return {"sessionResumptionUpdate": {"newHandle": handle, "resumable": resumable, **index}}


def usage(prompt: int = 10, response: int = 5, **more: Any) -> Json:
    """Token counts; they may stand next to other fields of a message."""
    counts = {"promptTokenCount": prompt, "responseTokenCount": response, "totalTokenCount": prompt + response}
    return {"usageMetadata": {**counts, **more}}


def _transcription(words: str, finished: bool | None) -> Json:
    return {"text": words} if finished is None else {"text": words, "finished": finished}
