"""Reading: messages of the Gemini Live API as responses."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode

from newel.models.google.sdk import Json
from newel.models.wire.playback import Playback
from newel.models.wire.speech_order import SpeechOrder
from newel.models.wire.transcripts import Transcript, Words
from newel_kernel import LlmResponse, seam
from newel_types import (
    Blob,
    Content,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
    GroundingMetadata,
    LiveServerContent,
    LiveServerMessage,
    LiveServerToolCallCancellation,
    Part,
    UsageMetadata,
    VadSignalType,
    VoiceActivity,
    VoiceActivityType,
)

_ACTIVITIES = {
    VadSignalType.VAD_SIGNAL_TYPE_SOS: VoiceActivityType.ACTIVITY_START,
    VadSignalType.VAD_SIGNAL_TYPE_EOS: VoiceActivityType.ACTIVITY_END,
}
#: What the user said before an answer, for the order of speech.
_TURN = "turn"


class Reader:
    """The state of a conversation between messages. `newer`: calls are passed on as they come.

    Models before Gemini 3 end their turn after calls, which may come one by one; they are passed on as one response.
    `hears`: what the user says is transcribed, be it after the answer.
    """

    def __init__(self, model: str, session_id: str | None, *, newer: bool, hears: bool = False) -> None:
        self.order = SpeechOrder(seam.monotonic, transcribed=hears)
        #: Whether the client has sent sound, and nothing else, since the last turn.
        self.listens = False
        self._answers = False
        self._was_heard = False
        self._playback = Playback()
        self._model = model
        self._session_id = session_id
        self._newer = newer
        self._words = Words(self._response)
        self._heard = Transcript("input", self._response)
        self._spoken = Transcript("output", self._response)
        self._calls: list[FunctionCall] = []
        self._grounding: GroundingMetadata | None = None

    @property
    def has_calls(self) -> bool:
        """Whether calls wait for the end of the turn."""
        return bool(self._calls)

    def read(self, message: Json) -> list[LlmResponse]:
        """The responses of a message. Raises ValueError (pydantic's, too) if it is malformed."""
        sound = _sound(message)
        if sound is not None:
            self._play(sound)
            return [*self._begun(), LlmResponse(sound, None, self._model)]
        frame = LiveServerMessage.model_validate(message)
        out = self._noted(frame)
        if frame.usage_metadata is not None:
            out.append(self._response(usage_metadata=_usage(frame.usage_metadata)))
        if frame.server_content is not None:
            out += self._content(frame.server_content, called=frame.tool_call is not None)
        if frame.tool_call is not None:
            out += self._words.finish()
            self._calls += frame.tool_call.function_calls or ()
            out += self._called() if self._newer else ()
        if frame.tool_call_cancellation is not None:
            out += self._cancelled(frame.tool_call_cancellation)
        if frame.session_resumption_update is not None:
            out.append(self._response(live_session_resumption_update=frame.session_resumption_update))
        if (activity := _activity(frame)) is not None:
            out.append(self._response(voice_activity=activity))
        if frame.go_away is not None:
            out.append(self._response(go_away=frame.go_away))
        return self.order.ordered(out)

    def calls(self) -> list[LlmResponse]:
        """The calls that wait, as one response."""
        return self.order.ordered(self._called())

    def late(self) -> list[LlmResponse]:
        """What has waited long enough for the words that it answers, after as many of them as came."""
        words = self._hear_all()
        return self.order.ordered(words) if words else self.order.give_up()

    def _begun(self) -> list[LlmResponse]:
        """The model says something: an answer to what the client has sent, if it was sound and is not transcribed.

        It gives what still waits of the turn before.
        """
        if self._answers:
            return []
        before = self.late() if self.order.patience is not None and self._heard.is_open else []
        self._answers = True
        if self.listens and not self._was_heard:
            self.order.spoke(_TURN)
            self.order.begun()
        return before

    def _noted(self, frame: LiveServerMessage) -> list[LlmResponse]:
        """Note who speaks; it gives what still waits of the turn before."""
        content = frame.server_content or LiveServerContent()
        if content.input_transcription is not None:
            self._was_heard = True
            self.order.goes_on()
        answers = frame.tool_call or content.model_turn or content.output_transcription
        before = self._begun() if answers is not None else []
        if content.turn_complete:
            self._answers = self.listens = self._was_heard = False
        return before

    def _play(self, content: Content) -> None:
        for part in content.parts or ():
            blob = part.inline_data
            if blob is not None and blob.data and (blob.mime_type or "").startswith("audio/"):
                self._playback.add("", 0, len(blob.data), seam.monotonic())

    def _hear_all(self) -> list[LlmResponse]:
        """The whole of what the user said, as far as it came."""
        if words := self._heard.finish():
            self.order.transcribed(_TURN)
        return words

    def _called(self) -> list[LlmResponse]:
        words = self._hear_all()
        calls, self._calls = self._calls, []
        if not calls:
            return words
        return [
            *words,
            self._response(content=Content(role="model", parts=[Part(function_call=call) for call in calls])),
        ]

    def rest(self) -> list[LlmResponse]:
        """What was said and spoken up to the end of the connection; an answer that breaks off is marked as cut."""
        return [*self.late(), *(self._spoken.cut(1.0) if self._spoken.is_open else ())]

    def _content(self, content: LiveServerContent, *, called: bool) -> list[LlmResponse]:
        ends = bool(content.turn_complete or content.interrupted or called)
        grounding = content.grounding_metadata
        self._grounding = grounding or self._grounding
        out: list[LlmResponse] = []
        parts = (content.model_turn.parts if content.model_turn is not None else None) or []
        if parts:
            out += self._parts(parts, ends=ends)
        elif grounding is not None and not content.turn_complete:
            out.append(self._response(grounding_metadata=grounding))
        out += self._transcribed(content)
        interrupted = {"interrupted": True} if content.interrupted else {}
        if content.interrupted and not content.turn_complete:
            out += self._words.finish(**interrupted) or [self._response(**interrupted)]
        if content.turn_complete:
            out += self._words.finish(**interrupted)
            out += self._called()
            out.append(self._turn(content, interrupted))
        return out

    def _turn(self, content: LiveServerContent, more: dict[str, bool]) -> LlmResponse:
        """The end of a turn."""
        grounding, self._grounding = self._grounding, None
        reasons = (
            ("turn_complete_reason", content.turn_complete_reason),
            ("interaction_status", content.interaction_status),
        )
        metadata = {name: value.value for name, value in reasons if value is not None}
        fields = {"grounding_metadata": grounding} if grounding is not None else {}
        return self._response(turn_complete=True, custom_metadata=metadata or None, **fields, **more)

    def _parts(self, parts: list[Part], *, ends: bool) -> list[LlmResponse]:
        """The model's output. A piece of text is passed on unless the whole text follows in the same message."""
        out: list[LlmResponse] = []
        pieces: list[Part] = []
        for part in parts:
            if part.inline_data is not None:
                self._play(Content(parts=[part]))
                out.append(self._response(content=Content(role="model", parts=[part])))
                continue
            if part.text is None or self._words.ends_with(part):
                out += self._words.finish()
                pieces = []
            if part.text:
                self._words.add(part)
                pieces.append(part)
            elif part.text is None:
                out.append(self._response(content=Content(role="model", parts=[part])))
        if pieces and not ends:
            out.append(self._words.partial(pieces))
        return out

    def _transcribed(self, content: LiveServerContent) -> list[LlmResponse]:
        out: list[LlmResponse] = []
        input_, output = content.input_transcription, content.output_transcription
        if input_ is not None:
            if self._newer:  # it is final
                out += self._heard.finish(input_.text)
                self.order.transcribed(_TURN)
            else:
                out += self._heard.piece(input_.text, input_.language_code)
                out += self._hear_all() if input_.finished else ()
        if output is not None:
            out += self._spoken.piece(output.text, output.language_code)
            if output.finished and not self._heard.is_open:  # else it waits for the user's words, which came before
                out += self._spoken.finish()
        if content.interrupted:
            out += self._hear_all()
            out += self._cut()
        elif content.turn_complete or content.generation_complete:
            out += self._hear_all()
            out += self._spoken.finish()
        return out

    def _cut(self) -> list[LlmResponse]:
        """End an interrupted answer where the user stopped hearing it."""
        length, position = self._playback.length, self._playback.stop(seam.monotonic())
        return self._spoken.finish() if position is None else self._spoken.cut(position[2] / length)

    def _cancelled(self, cancellation: LiveServerToolCallCancellation) -> list[LlmResponse]:
        """Drop cancelled calls that were not passed on yet; the runtime has to cancel the others."""
        ids = cancellation.ids or []
        waiting = {call.id for call in self._calls}
        self._calls = [call for call in self._calls if call.id not in ids]
        running = [id_ for id_ in ids if id_ not in waiting]
        if not running:
            return []
        return [self._response(tool_call_cancellation=LiveServerToolCallCancellation(ids=running))]

    def _response(self, **fields: object) -> LlmResponse:
        response = LlmResponse(model_version=self._model, **fields)  # type: ignore[arg-type]
        if self._session_id is not None:
            response.live_session_id = self._session_id
        return response


def _sound(message: Json) -> Content | None:
    """The content of a message that holds nothing but a chunk of sound or an image, as most do."""
    content = message.get("serverContent")
    if content is None or len(message) != 1 or len(content) != 1:
        return None
    parts = (content.get("modelTurn") or {}).get("parts")
    if not parts or len(parts) != 1 or len(parts[0]) != 1:
        return None
    blob = parts[0].get("inlineData")
    if blob is None or blob.keys() != {"data", "mimeType"} or not isinstance(blob["mimeType"], str):
        return None
    text = blob["data"]
    data = urlsafe_b64decode(text) if "-" in text or "_" in text else b64decode(text, validate=True)
    return Content(role="model", parts=[Part(inline_data=Blob(data=data, mime_type=blob["mimeType"]))])


def _activity(frame: LiveServerMessage) -> VoiceActivity | None:
    if frame.voice_activity is not None:
        return frame.voice_activity
    signal = frame.voice_activity_detection_signal
    kind = _ACTIVITIES.get(signal.vad_signal_type) if signal is not None and signal.vad_signal_type else None
    return VoiceActivity(voice_activity_type=kind) if kind is not None else None


def _usage(usage: UsageMetadata) -> GenerateContentResponseUsageMetadata:
    """The counts under the names of unary calls: an answer's tokens are those of its candidates."""
    counts = usage.model_dump(exclude_none=True)
    counts.pop("service_tier", None)
    for what in ("token_count", "tokens_details"):
        counts[f"candidates_{what}"] = counts.pop(f"response_{what}", None)
    return GenerateContentResponseUsageMetadata.model_validate(counts)
