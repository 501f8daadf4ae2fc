"""Reading: events of the Realtime API as responses."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator

from newel.models.openai.reading import objects, part_of, usage_of
from newel.models.openai.realtime.session import Manner
from newel.models.openai.realtime.turns import LATE, Turns
from newel.models.wire.arguments import MalformedArgumentsError, parse_arguments
from newel.models.wire.names import Names
from newel.models.wire.speech_order import SpeechOrder
from newel.models.wire.transcripts import Transcript, Words
from newel_kernel import Json, LlmResponse, seam
from newel_types import Blob, Content, FinishReason, FunctionCall, Part, VoiceActivity, VoiceActivityType

Responses = Iterator[LlmResponse]
#: Makes a response of a failure, from its code and a description.
Fail = Callable[[str, str], LlmResponse]

SOUND = "audio/pcm;rate=24000"
_TRANSCRIPTION = "conversation.item.input_audio_transcription"
#: Events that hold nothing for a response.
_SILENT = (
    "session.",
    "conversation.",
    "rate_limits.",
    "input_audio_buffer.",
    "output_audio_buffer.",
    "response.output_item.",
    "response.content_part.",
    "response.function_call_arguments.",
    "response.output_text.done",
    "response.text.done",
    "response.output_audio.done",
    "response.audio.done",
    "response.mcp_",
    "mcp_list_tools.",
)
_REASONS = {"max_output_tokens": FinishReason.MAX_TOKENS, "content_filter": FinishReason.SAFETY}


class Reader:
    """The state of a conversation between events; `outgoing` are the client's events that follow from them."""

    def __init__(self, model: str, names: Names, turns: Turns, manner: Manner, fail: Fail) -> None:
        self.outgoing: list[Json] = []
        self.order = SpeechOrder(seam.monotonic, transcribed=manner.hears)
        self._model = model
        self._names = names
        self._turns = turns
        self._manner = manner
        self._fail = fail
        self._session_id: str | None = None
        self._words = Words(self._response)
        self._output = Transcript("output", self._response)
        self._inputs: dict[str, Transcript] = {}
        self._interrupted = False
        self._unknown: set[str] = set()
        self._reactions: dict[str, Callable[[Json], Responses]] = {
            "response.created": self._begun,
            "response.output_audio.delta": self._sound,
            "response.audio.delta": self._sound,
            "response.output_text.delta": self._text,
            "response.text.delta": self._text,
            "response.output_audio_transcript.delta": self._output_piece,
            "response.audio_transcript.delta": self._output_piece,
            "response.output_audio_transcript.done": self._output_end,
            "response.audio_transcript.done": self._output_end,
            "response.done": self._done,
            f"{_TRANSCRIPTION}.delta": self._hear,
            f"{_TRANSCRIPTION}.completed": self._input_end,
            f"{_TRANSCRIPTION}.failed": self._input_failure,
            "input_audio_buffer.speech_started": self._speech,
            "input_audio_buffer.speech_stopped": self._silence,
            "input_audio_buffer.committed": self._committed,
            "conversation.item.truncated": self._truncated,
            "session.created": self._session,
            "error": self._error,
        }

    def read(self, event: Json) -> list[LlmResponse]:
        """The responses of an event. Raises ValueError, TypeError or KeyError if it is malformed."""
        kind = event["type"]
        reaction = self._reactions.get(kind)
        if reaction is not None:
            return self.order.ordered(list(reaction(event)))
        if kind.startswith(_SILENT) or kind in self._unknown:
            return []
        self._unknown.add(kind)
        return [self._fail("UNKNOWN_MESSAGE", f"sent a message of an unknown kind ({kind[:200]})")]

    def stopped(self) -> list[LlmResponse]:
        """End an interrupted answer: the text so far is all of it, of speech what was heard."""
        if self._interrupted:
            return []
        self._interrupted = True
        responses = self._cut()
        return [*responses, *(self._words.finish(interrupted=True) or [self._response(interrupted=True)])]

    def rest(self) -> list[LlmResponse]:
        """What was said and spoken up to the end of the connection; an answer that breaks off is marked as cut."""
        heard = [whole for transcript in self._inputs.values() for whole in transcript.finish()]
        self._inputs.clear()
        spoken = self._output.cut(1.0) if self._output.is_open and self._manner.transcribed else []
        return [*heard, *self.order.give_up(), *spoken]

    def _cut(self) -> list[LlmResponse]:
        heard, self._turns.heard = self._turns.heard, None
        return self._output.cut(heard) if heard is not None and self._manner.transcribed else self._output.finish()

    def _session(self, event: Json) -> Responses:
        self._session_id = part_of(event, "session").get("id")
        yield from ()

    def _begun(self, event: Json) -> Responses:
        self._turns.begun()
        self.order.begun()
        self._output.begin()
        self._interrupted = False
        yield from ()

    def _sound(self, event: Json) -> Responses:
        if self._interrupted:
            return
        data = b64decode(event["delta"], validate=True)
        self._turns.play(event.get("item_id") or "", event.get("content_index") or 0, len(data))
        part = Part(inline_data=Blob(data=data, mime_type=SOUND))
        yield LlmResponse(Content(role="model", parts=[part]), None, self._model)

    def _text(self, event: Json) -> Responses:
        part = Part(text=_text(event, "delta"))
        if part.text and not self._interrupted:
            self._words.add(part)
            yield self._words.partial([part])

    def _output_piece(self, event: Json) -> Responses:
        if self._manner.transcribed and not self._interrupted:
            yield from self._output.piece(_text(event, "delta"))

    def _output_end(self, event: Json) -> Responses:
        if self._manner.transcribed and not self._interrupted:
            yield from self._output.finish(_text(event, "transcript"))

    def _hear(self, event: Json) -> Responses:
        yield from self._listening(event).piece(_text(event, "delta"))

    def _input_end(self, event: Json) -> Responses:
        yield from self._listening(event).finish(_text(event, "transcript"))
        self._end_listening(event)

    def _input_failure(self, event: Json) -> Responses:
        self._end_listening(event)
        yield self._failure(part_of(event, "error"), "could not transcribe what the user said")

    def _end_listening(self, event: Json) -> None:
        item = event.get("item_id") or ""
        self._inputs.pop(item, None)
        self.order.transcribed(item)

    def _listening(self, event: Json) -> Transcript:
        return self._inputs.setdefault(event.get("item_id") or "", Transcript("input", self._response))

    def _speech(self, event: Json) -> Responses:
        if self._manner.reports_activity:
            yield self._activity(VoiceActivityType.ACTIVITY_START)
        if self._manner.interrupts and self._turns.speaking:
            self.outgoing += self._turns.truncate()
            yield from self.stopped()

    def _committed(self, event: Json) -> Responses:
        self.order.spoke(event.get("item_id") or "")
        yield from ()

    def _silence(self, event: Json) -> Responses:
        self.order.spoke(event.get("item_id") or "")
        if self._manner.reports_activity:
            yield self._activity(VoiceActivityType.ACTIVITY_END)

    def _truncated(self, event: Json) -> Responses:
        if self._turns.silenced:
            self._turns.silenced = False
            yield from self._cut()
            yield self._response(interrupted=True)

    def _activity(self, kind: VoiceActivityType) -> LlmResponse:
        return self._response(voice_activity=VoiceActivity(voice_activity_type=kind))

    def _done(self, event: Json) -> Responses:
        response = part_of(event, "response")
        status, details = response.get("status"), part_of(response, "status_details")
        usage = usage_of(response.get("usage"), "input_tokens", "output_tokens")
        if usage is not None:
            yield self._response(usage_metadata=usage)
        if status == "cancelled":
            yield from self.stopped()
        if not self._interrupted:
            yield from self._output.finish()
            yield from self._words.finish()
            yield from self._calls(objects(response.get("output")))
        if status == "failed":
            yield self._failure(part_of(details, "error"), "could not answer")
        reason = _REASONS.get(str(details.get("reason"))) if status == "incomplete" else None
        self.outgoing += self._turns.done()
        yield self._response(turn_complete=True, finish_reason=reason)
        self._interrupted = False

    def _calls(self, items: list[Json]) -> Responses:
        parts: list[Part] = []
        for item in items:
            if item.get("type") != "function_call" or item.get("status") == "incomplete":
                continue
            try:
                args = parse_arguments(_text(item, "arguments"))
            except MalformedArgumentsError as error:
                yield self._fail("MALFORMED_FUNCTION_CALL", f"made a malformed call of {item.get('name')!r}: {error}")
                continue
            name = self._names.back(_text(item, "name"))
            parts.append(Part(function_call=FunctionCall(id=item.get("call_id"), name=name, args=args)))
        if parts:
            yield self._response(content=Content(role="model", parts=parts))

    def _error(self, event: Json) -> Responses:
        error = part_of(event, "error")
        if str(error.get("event_id") or "").startswith(LATE):
            return
        if error.get("code") == "conversation_already_has_active_response":
            self._turns.too_early()
            return
        yield self._failure(error, "reported an error")

    def _failure(self, error: Json, what: str) -> LlmResponse:
        code = error.get("code") or error.get("type") or "UNKNOWN_ERROR"
        return self._fail(str(code), f"{what}: {error.get('message') or 'no message'}")

    def _response(self, **fields: object) -> LlmResponse:
        response = LlmResponse(model_version=self._model, **fields)  # type: ignore[arg-type]
        if self._session_id is not None:
            response.live_session_id = self._session_id
        return response


def _text(event: Json, name: str) -> str:
    value = event.get(name) or ""
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a text")
    return value
