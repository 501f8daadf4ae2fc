"""Stream: the chunks of a streamed answer, as they come and as the one answer they make up.

A whole answer is treated as one chunk with everything in it, so both come out the same.
"""

from __future__ import annotations

import json

from newel.models.openai.chat.answers import (
    Call,
    Whole,
    cited,
    images_of,
    merge_details,
    plain_text,
    texts_of,
    tokens_of,
)
from newel.models.openai.chat.tags import ThinkTags
from newel.models.openai.declarations import Declarations
from newel.models.openai.profiles import Profile
from newel.models.openai.reading import check, failure, is_text, objects
from newel.models.openai.wrapping import Unwrapping
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel_kernel import Json, LlmResponse
from newel_types import Content, Part


class Assembly:
    """Puts one answer together."""

    def __init__(
        self, service: Service, profile: Profile, names: Names, tools: Declarations, *, wrapped: bool = False
    ) -> None:
        self._service = service
        self._profile = profile
        self._names = names
        self._tools = tools
        self._whole = Whole()
        self._tags = ThinkTags() if profile.think_tags else None
        self._unwrapping = Unwrapping() if wrapped else None
        #: The current call at an index.
        self._at: dict[int, Call] = {}
        self._began = False

    def feed(self, chunk: Json) -> LlmResponse | None:
        """Take a chunk; return the partial response that it makes, or None. Raises a failure that it reports."""
        if (text := plain_text(chunk)) is not None:
            return self.feed_text(text, chunk.get("model"))
        check(chunk, self._service)
        self._whole.note(chunk)
        parts: list[Part] = []
        for choice in objects(chunk.get("choices")):
            if choice.get("index") in (0, None):
                delta = choice.get("delta")
                parts.extend(self._take(delta if isinstance(delta, dict) else {}, choice))
        return self._partial(parts)

    def feed_text(self, text: str, model: object) -> LlmResponse | None:
        """Take a chunk that holds one text and nothing else."""
        if is_text(model):
            self._whole.model = model
        self._began = True
        if self._tags is not None or self._unwrapping is not None:
            parts: list[Part] = []
            self._text(text, False, parts)
            return self._partial(parts)
        self._whole.add(text, False)
        return LlmResponse(Content([Part(text)], "model"), True, self._whole.model)

    def complete(self, body: Json) -> LlmResponse:
        """The response of a whole answer."""
        choices = objects(body.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            raise self._service.malformed("an answer without a choice")
        self._whole.note(body)
        self._take(message, choices[0])
        self._whole.finish_reason = self._whole.finish_reason or "stop"
        return self._response()

    def close(self) -> tuple[LlmResponse | None, LlmResponse]:
        """The text that was held back, and the whole answer. Raises an error if the answer never ended."""
        if self._whole.finish_reason is None:
            if not (self._profile.finish_reason_optional and self._began):
                raise self._service.cut_short("the stream ended without a finish reason")
            self._whole.finish_reason = "stop"
        parts: list[Part] = []
        self._end_text(parts)
        return self._partial(parts), self._response()

    def _response(self) -> LlmResponse:
        self._end_text([])
        if self._whole.finish_reason == "error":
            raise failure({"code": "error", "message": "the service ended the answer with an error"}, self._service)
        return self._whole.response(self._service.provider, self._names, self._tools)

    def _take(self, delta: Json, choice: Json) -> list[Part]:
        parts: list[Part] = []
        for text, thought in texts_of(delta, self._profile):
            self._text(text, thought, parts)
        whole = self._whole
        for call in objects(delta.get("tool_calls")):
            self._call(call)
        if is_text(delta.get("refusal")):
            whole.refusal.append(delta["refusal"])
        if delta.get("reasoning_details"):
            merge_details(whole.details, objects(delta["reasoning_details"]))
        if delta.get("images"):
            whole.images.extend(images_of(delta))
        if delta.get("annotations"):
            whole.citations.extend(cited(delta))
        if choice.get("logprobs"):
            whole.tokens.extend(tokens_of(choice))
        if is_text(choice.get("finish_reason")):
            whole.finish_reason = choice["finish_reason"]
        self._began = self._began or bool(delta)
        return parts

    def _text(self, text: str, thought: bool, parts: list[Part]) -> None:
        if thought or self._tags is None:
            self._pass_on(text, thought, parts)
            return
        for piece, inner in self._tags.feed(text):
            self._pass_on(piece, inner, parts)

    def _pass_on(self, text: str, thought: bool, parts: list[Part]) -> None:
        if self._unwrapping is not None and not thought:
            text = self._unwrapping.feed(text)
        if text:
            self._whole.add(text, thought)
            parts.append(Part(text=text, thought=thought or None))

    def _end_text(self, parts: list[Part]) -> None:
        if self._tags is not None:
            for piece, thought in self._tags.close():
                self._pass_on(piece, thought, parts)
        if self._unwrapping is not None and (rest := self._unwrapping.close()):
            self._unwrapping = None
            self._pass_on(rest, False, parts)

    def _call(self, delta: Json) -> None:
        """A piece of a call. Another id at the same index begins a new call, as does a name after whole arguments."""
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = delta.get("id"), function.get("name")
        number = delta.get("index")
        index = number if isinstance(number, int) else None
        call = self._open_call(index, call_id, name)
        if is_text(call_id):
            call.id = call_id
        if is_text(name):
            call.name = name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif isinstance(arguments, dict):  # some servers send the object itself
            call.arguments.append(json.dumps(arguments))
        if delta.get("extra_content") is not None:
            call.extra = delta["extra_content"]

    def _open_call(self, index: int | None, call_id: object, name: object) -> Call:
        calls = self._whole.calls
        if index is None:
            # Without an index an id tells calls apart; a message lists each of its calls once.
            match = next((call for call in calls if is_text(call_id) and call.id == call_id), None)
            if match is None and calls and not is_text(call_id) and not is_text(name):
                match = calls[-1]
            call = match
        else:
            call = self._at.get(index)
            if call is not None and _is_another(call, call_id, name):
                call = None
        if call is None:
            call = Call()
            calls.append(call)
            if index is not None:
                self._at[index] = call
        return call

    def _partial(self, parts: list[Part]) -> LlmResponse | None:
        if not parts:
            return None
        return LlmResponse(Content(parts, "model"), True, self._whole.model)


def _is_another(call: Call, call_id: object, name: object) -> bool:
    if is_text(call_id) and call.id is not None:
        return call.id != call_id
    if not is_text(name) or not call.name or not call.arguments:
        return False
    try:
        json.loads("".join(call.arguments))
    except ValueError:
        return False
    return True
