"""Messages: a conversation in the form of Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence

from newel.models.openai.history import History, as_json, code_text, result_media, result_text
from newel.models.openai.media import Medium, medium_of
from newel.models.openai.profiles import Profile
from newel.models.openai.thinking import Report
from newel.models.wire.names import Names
from newel.models.wire.signatures import kept_for
from newel_kernel import Json
from newel_types import FunctionResponse, MediaResolution, Part

#: How long an id of a call may be.
ID_LENGTH = 40
#: Keys in `Part.part_metadata`: of a call, what Gemini's endpoint must get back; of a thought, what OpenRouter must.
EXTRA_CONTENT = "extra_content"
REASONING_DETAILS = "reasoning_details"
_DETAILS = {
    MediaResolution.MEDIA_RESOLUTION_LOW: "low",
    MediaResolution.MEDIA_RESOLUTION_MEDIUM: "auto",
    MediaResolution.MEDIA_RESOLUTION_HIGH: "high",
}


class Messages(History):
    """The messages of a conversation."""

    def __init__(
        self,
        provider: str,
        profile: Profile,
        media: frozenset[str],
        names: Names,
        report: Report,
        resolution: MediaResolution | None = None,
    ) -> None:
        super().__init__(names, report, ID_LENGTH)
        self._provider = provider
        self._profile = profile
        self._media = media
        self._detail = _DETAILS.get(resolution) if resolution is not None else None

    def from_model(self, parts: Sequence[Part]) -> list[Json]:
        """One message of the assistant: its text and its calls; none if it only thought."""
        texts: list[Json] = []
        calls: list[Json] = []
        for part in parts:
            if part.function_call is not None:
                calls.append(self._call(part))
            elif part.text is not None:
                if part.text.strip() and not part.thought:
                    texts.append({"type": "text", "text": part.text})
            elif words := code_text(part):
                texts.append({"type": "text", "text": words})
            elif (medium := medium_of(part)) is not None:
                self._report(f"model {medium.kind}", f"{medium.mime} of the model cannot be sent back and is left out")
        if not texts and not calls:
            return []
        message: Json = {"role": "assistant", "content": None}
        if texts:
            message["content"] = texts[0]["text"] if len(texts) == 1 else texts
        if calls:
            message["tool_calls"] = calls
        self._think(message, parts)
        return [message]

    def result(self, call_id: str, response: FunctionResponse) -> tuple[Json, list[Json]]:
        """A tool message, which holds text only; media follow in a message of the user."""
        media = result_media(response)
        beside = [self.medium_or_words(medium) for medium in media]
        if beside:
            beside.insert(0, self.text(f"Files in the result of {response.name} (call {call_id}):"))
        return {"role": "tool", "tool_call_id": call_id, "content": result_text(response)}, beside

    def no_result(self, call_id: str, text: str) -> Json:
        """An error as the result."""
        return {"role": "tool", "tool_call_id": call_id, "content": as_json({"error": text})}

    def user(self, parts: list[Json]) -> Json:
        """A message of the user."""
        only = parts[0] if len(parts) == 1 else {}
        return {"role": "user", "content": only["text"] if only.get("type") == "text" else parts}

    def text(self, text: str) -> Json:
        """The content item of a text."""
        return {"type": "text", "text": text}

    def medium(self, medium: Medium) -> Json | None:
        """An image, a file, audio, or the text of a text file."""
        if words := medium.text:
            return self.text(words)
        if medium.file_id is not None:
            return {"type": "file", "file": {"file_id": medium.file_id}}
        if medium.kind not in self._media:
            return None
        if medium.is_image:
            url = medium.data_url if medium.data is not None else medium.uri
            detail = {"detail": self._detail} if self._detail else {}
            return {"type": "image_url", "image_url": {"url": url, **detail}}
        if medium.data is None:
            return None
        if medium.kind == "pdf":
            return {"type": "file", "file": {"filename": medium.file_name, "file_data": medium.data_url}}
        if medium.mime in ("audio/wav", "audio/mp3"):
            sound = {"data": medium.base64, "format": medium.mime.partition("/")[2]}
            return {"type": "input_audio", "input_audio": sound}
        return None

    def _call(self, part: Part) -> Json:
        call = part.function_call
        assert call is not None
        function = {"name": self.name(call), "arguments": as_json(call.args or {})}
        result: Json = {"id": self.call_id(call), "type": "function", "function": function}
        extra = kept_for(part, self._provider, EXTRA_CONTENT)
        if extra is not None:
            result[EXTRA_CONTENT] = extra
        return result

    def _think(self, message: Json, parts: Sequence[Part]) -> None:
        """Give the service its thoughts back, if it wants them."""
        field = self._profile.reasoning_back
        if field is None:
            return
        own = [p for p in parts if p.thought and (p.part_metadata or {}).get("provider") == self._provider]
        thoughts = "".join(part.text or "" for part in own)
        if thoughts:
            message[field] = thoughts
        details = [detail for part in own for detail in kept_for(part, self._provider, REASONING_DETAILS) or ()]
        if details:
            message[REASONING_DETAILS] = details
