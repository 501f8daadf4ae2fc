"""Items: a conversation in the form of the Responses API."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from newel.models.openai.history import as_json, code_text, result_media, result_text
from newel.models.openai.item_history import ItemHistory
from newel.models.openai.media import Medium, medium_of
from newel.models.openai.responses.tool_search import NAMESPACE, SEARCH, loaded
from newel.models.openai.thinking import Report
from newel.models.wire.names import Names
from newel.models.wire.signatures import kept_for, signature_of
from newel_kernel import Json
from newel_types import Content, FunctionCall, FunctionResponse, Part

ID_LENGTH = 64
#: Keys in the `Part.part_metadata` of a thought: the id of its item, and its summaries if it has several.
ITEM, SUMMARIES = "item", "summaries"
#: Keys for an answer that the service stored: its id, its model, and a digest of the conversation before it.
RESPONSE, MODEL, BEFORE = "response", "model", "before"


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that the service keeps with all that came before it, and how many items these are here."""

    response: str
    count: int


class Items(ItemHistory):
    """The items of a conversation. With `stored`, it notes from which answer of `model` the service can continue."""

    def __init__(
        self, provider: str, model: str, media: frozenset[str], names: Names, report: Report, *, stored: bool = False
    ) -> None:
        super().__init__(names, report, ID_LENGTH)
        self._provider = provider
        self._model = model
        self._media = media
        self._hash = hashlib.sha256() if stored else None
        self._hashed = 0
        #: Whether the service searched for tools, and the names of those that it found.
        self.has_searches = False
        self.referenced: frozenset[str] = frozenset()
        self.stored: Stored | None = None

    def copy(self) -> Self:
        """A copy that can grow without changing this one."""
        new = super().copy()
        new._hash = self._hash.copy() if self._hash is not None else None
        return new

    def add(self, content: Content) -> None:
        """Convert one more content."""
        last = content.parts[-1] if content.parts and content.role == "model" and self._hash is not None else None
        response = kept_for(last, self._provider, RESPONSE) if last is not None else None
        if last is None or response is None or kept_for(last, self._provider, MODEL) != self._model:
            super().add(content)
            return
        self._settle()
        same = kept_for(last, self._provider, BEFORE) == self.digest
        super().add(content)
        self.stored = Stored(response, len(self._messages)) if same else None

    @property
    def digest(self) -> str:
        """A digest that identifies this conversation; empty unless answers are stored."""
        if self._hash is None:
            return ""
        for item in self._messages[self._hashed :]:
            self._hash.update(as_json(item).encode())
        self._hashed = len(self._messages)
        return self._hash.copy().hexdigest()[:16]

    def from_model(self, parts: Sequence[Part]) -> list[Json]:
        """Messages, calls and thoughts in their order. A thought comes right before what it led to, or not at all."""
        items: list[Json] = []
        for part in parts:
            if part.function_call is not None:
                items.append(self._call(part, part.function_call))
            elif part.thought:
                items.extend(self._thought(part))
            elif part.text is not None:
                if part.text.strip():
                    items.append(_message(part.text))
            elif words := code_text(part):
                items.append(_message(words))
            elif (medium := medium_of(part)) is not None:
                self._report(f"model {medium.kind}", f"{medium.mime} of the model cannot be sent back and is left out")
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        return items

    def result(self, call_id: str, response: FunctionResponse) -> tuple[Json, list[Json]]:
        """An output, media included."""
        text = result_text(response)
        media = [self.medium_or_words(medium) for medium in result_media(response)]
        output = [self.text(text), *media] if media else text
        return {"type": "function_call_output", "call_id": call_id, "output": output}, []

    def medium(self, medium: Medium) -> Json | None:
        """An image, a file, or the text of a text file."""
        if words := medium.text:
            return self.text(words)
        if medium.file_id is not None:
            kind = "input_image" if medium.kind == "image" else "input_file"
            return {"type": kind, "file_id": medium.file_id}
        if medium.is_image and "image" in self._media:
            return {"type": "input_image", "detail": "auto", "image_url": medium.uri or medium.data_url}
        if medium.data is None:
            is_file = medium.kind in ("pdf", "text") and "pdf" in self._media and medium.on_web
            return {"type": "input_file", "file_url": medium.uri} if is_file else None
        if medium.kind == "pdf" and "pdf" in self._media:
            return {"type": "input_file", "filename": medium.file_name, "file_data": medium.data_url}
        return None

    def _call(self, part: Part, call: FunctionCall) -> Json:
        item, namespace = self.call_item(call), kept_for(part, self._provider, NAMESPACE)
        return item if namespace is None else {**item, "namespace": namespace}

    def _thought(self, part: Part) -> list[Json]:
        """The item of a thought or of a search; none if it is another service's, or has no encrypted content."""
        search: Json | None = kept_for(part, self._provider, SEARCH)
        if search is not None:
            self.has_searches = True
            self.referenced |= set(loaded(search))
            return [dict(search)]
        item = kept_for(part, self._provider, ITEM)
        encrypted = signature_of(part, self._provider)
        if not isinstance(item, str) or encrypted is None:
            return []
        summaries = kept_for(part, self._provider, SUMMARIES) or ([part.text] if part.text else [])
        summary = [{"type": "summary_text", "text": text} for text in summaries]
        return [{"type": "reasoning", "id": item, "summary": summary, "encrypted_content": encrypted.decode()}]


def _message(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}
