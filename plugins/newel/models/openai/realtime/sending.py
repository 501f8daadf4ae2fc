"""Sending: the user's input as events of the Realtime API."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence

from newel.models.openai.history import as_json
from newel.models.openai.media import medium_of
from newel.models.openai.realtime.items import items_of, output
from newel.models.openai.realtime.session import RATE, Manner
from newel.models.openai.realtime.turns import Turns
from newel.models.openai.thinking import Report
from newel.models.wire.names import Names
from newel.models.wire.sounds import Resampler, sound_of, without_sound
from newel_kernel import Json
from newel_types import (
    ActivityEnd,
    ActivityStart,
    Blob,
    Content,
    FunctionResponse,
    FunctionResponseScheduling,
    LiveClientRealtimeInput,
    Part,
)

#: The least utterance that the service takes, 100 ms, in bytes.
_LEAST = RATE * 2 // 10
#: How much longer than the set silence surely ends an utterance, and the default silence, both in milliseconds.
_MARGIN_MS, _SILENCE_MS = 300, 500
_CLEAR = '{"type": "input_audio_buffer.clear"}'
_COMMIT = '{"type": "input_audio_buffer.commit"}'


class Frames:
    """Makes frames, and notes how they change whose turn it is."""

    def __init__(self, names: Names, report: Report, turns: Turns, manner: Manner) -> None:
        self._names = names
        self._report = report
        self._turns = turns
        self._manner = manner
        #: The bytes in the service's buffer since its last utterance, as far as is known here.
        self._buffered = 0
        self._resamplers: dict[int, Resampler] = {}
        #: The calls that have had a result: a further result is sent as a message.
        self._answered: set[str] = set()

    def history(self, contents: Sequence[Content]) -> list[str]:
        """The conversation so far; the model answers if it ends with the user."""
        history = without_sound(contents)
        items = items_of(history, self._names, self._report)
        asks = self._turns.ask() if items and history[-1].role == "user" else []
        return [*map(_item, items), *map(json.dumps, asks)]

    def content(self, content: Content, *, partial: bool) -> list[str]:
        """A turn of the user or a part of it, or the results of tools."""
        parts = content.parts or []
        results = [part.function_response for part in parts if part.function_response is not None]
        if results and len(results) == len(parts):
            return self._results(results)
        items = items_of(without_sound([content.model_copy(update={"role": "user"})]), self._names, self._report)
        if not items:
            raise ValueError(
                "this content holds nothing that a live session takes: send text or images, and sound as a Blob"
            )
        if partial:
            return [_item(item) for item in items]
        return [*map(json.dumps, self._stop()), *map(_item, items), *map(json.dumps, self._turns.ask())]

    def realtime(self, value: object) -> list[str]:
        """A chunk of sound or an image, or a signal."""
        if isinstance(value, Blob):
            return self._blob(value)
        if isinstance(value, ActivityStart | ActivityEnd) and not self._manner.manual:
            raise ValueError(
                "the service itself detects when the user speaks: disable automatic_activity_detection first"
            )
        if isinstance(value, ActivityStart):
            return self._activity()
        if isinstance(value, ActivityEnd):
            return self._utterance()
        if isinstance(value, LiveClientRealtimeInput):
            if value.audio_stream_end:
                return self._stream_end()
            blobs = [blob for blob in (value.audio, value.video, *(value.media_chunks or ())) if blob is not None]
            if len(blobs) == 1:
                return self._blob(blobs[0])
        raise ValueError(
            f"the Realtime API takes no {type(value).__name__}: send a Blob, an activity signal or a content"
        )

    def _blob(self, blob: Blob) -> list[str]:
        if (blob.mime_type or "").startswith("image/"):
            medium = medium_of(Part(inline_data=blob))
            if medium is None or not medium.is_image:
                raise ValueError(f"the Realtime API takes PNG, JPEG, GIF and WebP images, not {blob.mime_type}")
            part = {"type": "input_image", "image_url": medium.data_url}
            return [_item({"type": "message", "role": "user", "content": [part]})]
        data, rate = sound_of(blob)
        if rate != RATE:
            resampler = self._resamplers.get(rate) or self._resamplers.setdefault(rate, Resampler(rate, RATE))
            data = resampler.resample(data)
        self._buffered += len(data)
        return [_append(data)] if data else []

    def _stop(self) -> list[Json]:
        """Have the model stop for the user, and forget the speech that was not heard."""
        stop = self._turns.interrupt()
        return [*stop, *self._turns.truncate()] if stop else []

    def _activity(self) -> list[str]:
        """The user begins to speak: the rest of the model's speech is not played."""
        events: list[Json] = []
        if self._manner.interrupts:
            events = self._stop() or self._turns.silence()
        begun, self._buffered = [_CLEAR] if self._buffered else [], 0
        return [*map(json.dumps, events), *begun]

    def _utterance(self) -> list[str]:
        """End the utterance that began with the activity, and ask for an answer."""
        size, self._buffered = self._buffered, 0
        if not size:
            return []
        filled = [_append(bytes(_LEAST - size))] if size < _LEAST else []
        return [*filled, _COMMIT, *map(json.dumps, self._turns.ask())]

    def _stream_end(self) -> list[str]:
        """Silence by which the service knows that the utterance is over."""
        if self._manner.manual or not self._buffered:
            return []
        self._buffered = 0
        ms = (self._manner.silence_ms or _SILENCE_MS) + _MARGIN_MS
        return [_append(bytes(ms * RATE // 500))]

    def _results(self, results: Sequence[FunctionResponse]) -> list[str]:
        items: list[Json] = []
        for result in results:
            if result.id in self._answered:
                items.append(_further(result))
            else:
                self._answered.add(result.id or "")
                items.append(output(result.id or "", result))
        scheduling = [result.scheduling for result in results]
        if all(one is FunctionResponseScheduling.SILENT for one in scheduling):
            return [_item(item) for item in items]
        stop = self._stop() if FunctionResponseScheduling.INTERRUPT in scheduling else []
        return [*map(json.dumps, stop), *map(_item, items), *map(json.dumps, self._turns.ask())]


def _further(result: FunctionResponse) -> Json:
    """A later result of a call as a message: the service takes one result for each call."""
    text = f"Further result of {result.name} (call {result.id}): {as_json(result.response or {})}"
    return {"type": "message", "role": "system", "content": [{"type": "input_text", "text": text}]}


def _item(item: Json) -> str:
    return json.dumps({"type": "conversation.item.create", "item": item})


def _append(data: bytes) -> str:
    return f'{{"type": "input_audio_buffer.append", "audio": "{b64encode(data).decode()}"}}'
