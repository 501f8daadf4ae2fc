"""Sending: what the user says, as the frames of the Gemini Live API."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache

from newel.models.capabilities import fact_of
from newel.models.google.history import Dialect
from newel.models.google.requests import on_wire
from newel.models.google.sdk import Json
from newel.models.wire.sounds import without_sound
from newel_types import ActivityEnd, ActivityStart, Blob, Content, LiveClientRealtimeInput, Part

#: The text after a history that ends with the user, for models that answer only after new input.
_GO_ON = "."


class Frames:
    """Makes frames. `newer`: in the form that Gemini 3 takes."""

    def __init__(self, model: str, dialect: Dialect) -> None:
        self.newer = is_newer(model)
        self._fields = self.newer or fact_of("gemini", model, "translates") is not None
        self._dialect = dialect

    def history(self, contents: Sequence[Content], *, initial: bool) -> list[str]:
        """The conversation so far; the model answers if it ends with the user. `initial`: the setup announced it."""
        turns = self._turns(contents)
        if not turns:
            return []
        is_question = turns[-1]["role"] == "user"
        frames = [_frame("client_content", {"turns": turns, "turnComplete": is_question})]
        if is_question and initial and self.newer:  # no newer model answers an announced history alone
            frames.append(_frame("realtime_input", {"text": _GO_ON}))
        return frames

    def content(self, content: Content, *, partial: bool) -> list[str]:
        """A turn of the user or a part of it, or the results of tools."""
        parts = content.parts or []
        if parts and all(part.function_response is not None for part in parts):
            return [_frame("tool_response", {"functionResponses": list(_results(parts))})]
        if self.newer and not partial and len(parts) == 1 and parts[0].text:
            return [_frame("realtime_input", {"text": parts[0].text})]
        turns = self._turns([content.model_copy(update={"role": content.role or "user"})])
        if not turns:
            raise ValueError(
                "this content holds nothing that a live session takes: send text or images, and sound as a Blob"
            )
        return [_frame("client_content", {"turns": turns, "turnComplete": not partial})]

    def realtime(self, value: object) -> list[str]:
        """A chunk of sound or an image, or a signal."""
        if isinstance(value, Blob):
            return [self._blob(value)]
        if isinstance(value, ActivityStart):
            return ['{"realtime_input": {"activityStart": {}}}']
        if isinstance(value, ActivityEnd):
            return ['{"realtime_input": {"activityEnd": {}}}']
        if isinstance(value, LiveClientRealtimeInput):
            if value.audio_stream_end:
                return ['{"realtime_input": {"audioStreamEnd": true}}']
            blobs = [blob for blob in (value.audio, value.video, *(value.media_chunks or ())) if blob is not None]
            if len(blobs) == 1:
                return [self._blob(blobs[0])]
        raise ValueError(f"Gemini Live takes no {type(value).__name__}: send a Blob, an activity signal or a content")

    def _blob(self, blob: Blob) -> str:
        mime = blob.mime_type or ""
        data = b64encode(blob.data or b"").decode()
        text = _quoted(mime)
        if not self._fields:
            return f'{{"realtime_input": {{"mediaChunks": [{{"data": "{data}", "mimeType": {text}}}]}}}}'
        field = "audio" if mime.startswith("audio/") else "video"
        if field == "video" and not mime.startswith(("image/", "video/")):
            raise ValueError(f"Gemini Live takes sound and images, not {mime or 'bytes without a MIME type'}")
        return f'{{"realtime_input": {{"{field}": {{"data": "{data}", "mimeType": {text}}}}}}}'

    def _turns(self, contents: Sequence[Content]) -> list[Json]:
        turns = on_wire(without_sound(contents), self._dialect)
        for turn in turns:
            for part in turn["parts"]:
                part.pop("partMetadata", None)
        return turns


def is_newer(model: str) -> bool:
    """Whether a model is one of Gemini 3 or later."""
    return fact_of("gemini", model, "realtime_fields") is not None


def _results(parts: Sequence[Part]) -> Iterator[Json]:
    for part in parts:
        assert part.function_response is not None
        result = part.function_response.model_dump(mode="json", by_alias=True, exclude_none=True)
        result.setdefault("response", {})
        yield result


def _frame(kind: str, value: Json) -> str:
    return json.dumps({kind: value})


@lru_cache(maxsize=64)
def _quoted(mime: str) -> str:
    return json.dumps(mime)
