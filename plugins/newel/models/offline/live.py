"""Live connections of offline models: each turn of the user is a call of the model, whose text is spoken in tones."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from newel.models.contract import BaseLlm, BaseLlmConnection
from newel.models.live import LIVE_CONFIG, ConnectionLostError
from newel_kernel import LlmRequest, LlmResponse
from newel_types import ActivityEnd, ActivityStart, Blob, Content, Part, SharedContents, Transcription

RATE_IN, RATE_OUT = 16000, 24000
_MIME = f"audio/pcm;rate={RATE_OUT}"
#: The length of a piece of speech, of a word and of the pause after it, in seconds; the loudness up to which sound is
#: silence; and the length of a silence that ends what the user says, in samples.
_PIECE, _WORD, _GAP = 0.1, 0.18, 0.06
_SILENCE = 500
_ENDS = RATE_IN // 2
#: The end of the text that stands for speech in a request; only the length of the speech is known.
_SPEECH = " s of speech)"


@asynccontextmanager
async def connected(model: BaseLlm, request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
    """A live connection to `model`, which answers each turn as it answers a request."""
    connection = OfflineConnection(model, request)
    try:
        yield connection
    finally:
        await connection.close()


class OfflineConnection(BaseLlmConnection):
    """Hears words and loudness, and speaks in tones. A new turn of the user interrupts the current answer."""

    def __init__(self, model: BaseLlm, request: LlmRequest) -> None:
        self._model = model
        self._request = request
        self._contents: list[Content] = []
        config = request.stash[LIVE_CONFIG]
        self._speaks = any(str(getattr(m, "value", m)) == "AUDIO" for m in config.response_modalities or ())
        self._transcribes = config.input_audio_transcription is not None, config.output_audio_transcription is not None
        self._turns: asyncio.Queue[Content | None] = asyncio.Queue()
        self._closed = False
        self._parts: list[Part] = []
        self._loud = self._quiet = 0
        self._manual = False

    async def send_history(self, history: list[Content]) -> None:
        """Take the history; if it ends with a content of the user, that is answered."""
        self._contents = history[:-1]
        if history and history[-1].role == "user":
            await self.send_content(history[-1])
        else:
            self._contents = list(history)

    async def send_content(self, content: Content) -> None:
        """A turn, or results of tools."""
        self._check()
        if self._parts and not any(part.function_response is not None for part in content.parts or ()):
            content = Content(role="user", parts=[*self._parts, *(content.parts or ())])
            self._parts = []
        self._turns.put_nowait(content)

    async def _send_content(self, content: Content, *, partial: bool = False) -> None:
        if partial and not any(part.function_response is not None for part in content.parts or ()):
            self._check()
            self._parts += content.parts or ()
        else:
            await self.send_content(content)

    async def send_realtime(self, blob: Any) -> None:
        """Take audio or a signal; a turn ends with half a second of silence, or with the signal for it."""
        self._check()
        if isinstance(blob, ActivityStart):
            self._manual, self._loud = True, 0
        elif isinstance(blob, Blob):
            if (blob.mime_type or "").startswith("audio/"):
                self._hear(blob.data or b"")
        else:  # the user has stopped, or the microphone is off
            self._manual = isinstance(blob, ActivityEnd)
            self._end_of_speech()

    def _hear(self, data: bytes) -> None:
        samples = array("h", data[: len(data) & ~1])
        if max(samples, default=0) > _SILENCE:
            self._loud += len(samples)
            self._quiet = 0
        elif self._loud:
            self._quiet += len(samples)
            if self._quiet >= _ENDS and not self._manual:
                self._end_of_speech()

    def _end_of_speech(self) -> None:
        if self._loud:
            words = f"({self._loud / RATE_IN:.1f}{_SPEECH}"
            self._turns.put_nowait(Content(role="user", parts=[Part(text=words)]))
        self._loud = self._quiet = 0

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        """The answer to the next turn."""
        content = await self._turns.get()
        if content is None:
            return
        text = content.parts[0].text if content.parts else None
        if self._transcribes[0] and text and text.endswith(_SPEECH):
            yield LlmResponse(input_transcription=Transcription(text=text, finished=True))
        self._contents.append(content)
        calls = False
        async with aclosing(self._answers()) as responses:
            async for response in responses:
                if calls := any(p.function_call is not None for p in _parts(response)):
                    yield response
                elif self._turns.empty():
                    yield response
                    await asyncio.sleep(0)
                else:  # the user speaks again
                    yield LlmResponse(interrupted=True)
                    break
        if not calls:
            yield LlmResponse(turn_complete=True)

    async def _answers(self) -> AsyncGenerator[LlmResponse, None]:
        """The model's answer to the conversation so far, as it is spoken; it becomes a part of the conversation."""
        request = self._request.model_copy()
        request.contents = SharedContents(list(self._contents))
        async with aclosing(self._model.generate_content_async(request, stream=not self._speaks)) as answers:
            async for answer in answers:
                if answer.content is not None and not answer.partial:
                    self._contents.append(Content(role="model", parts=list(_parts(answer))))
                for response in self._responses(answer):
                    yield response

    def _responses(self, answer: LlmResponse) -> Iterator[LlmResponse]:
        """An answer as it is spoken: as text, or in tones with a transcription."""
        parts = _parts(answer)
        words = "".join(part.text for part in parts if part.text and not part.thought)
        if not self._speaks or not words or any(part.function_call is not None for part in parts):
            yield answer
            return
        for piece in tones(words):
            blob = Blob(data=piece, mime_type=_MIME)
            yield LlmResponse(content=Content(role="model", parts=[Part(inline_data=blob)]))
        if self._transcribes[1]:
            yield LlmResponse(output_transcription=Transcription(text=words, finished=True))

    def _check(self) -> None:
        if self._closed:
            raise ConnectionLostError(f"the live connection to {self._model.model!r} is closed", 1000)

    async def close(self) -> None:
        """Close the connection: `receive` returns."""
        if not self._closed:
            self._closed = True
            self._turns.put_nowait(None)


def _parts(response: LlmResponse) -> Sequence[Part]:
    return (response.content.parts or ()) if response.content is not None else ()


def tones(words: str) -> Iterator[bytes]:
    """`words` as 16-bit PCM of 24 kHz in pieces: a tone for each word; longer words get lower tones."""
    samples = array("h")
    for word in words.split():
        pitch = 660 - 30 * min(len(word), 12)
        samples.extend(int(6000 * math.sin(2 * math.pi * pitch * i / RATE_OUT)) for i in range(int(_WORD * RATE_OUT)))
        samples.extend([0] * int(_GAP * RATE_OUT))
    size = int(_PIECE * RATE_OUT)
    for at in range(0, len(samples), size):
        yield samples[at : at + size].tobytes()
