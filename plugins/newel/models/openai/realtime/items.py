"""Items: a conversation in the form of the Realtime API."""

from __future__ import annotations

from collections.abc import Sequence

from newel.models.openai.history import code_text, result_media, result_text
from newel.models.openai.item_history import ItemHistory
from newel.models.openai.media import Medium, medium_of
from newel.models.openai.thinking import Report
from newel.models.wire.names import Names
from newel_kernel import Json
from newel_types import Content, FunctionResponse, Part

#: How long an id may be.
_ID_LENGTH = 32


class Items(ItemHistory):
    """The items of a conversation."""

    def __init__(self, names: Names, report: Report) -> None:
        super().__init__(names, report, _ID_LENGTH)

    def from_model(self, parts: Sequence[Part]) -> list[Json]:
        """Messages and calls in their order. Thoughts are not sent back."""
        items: list[Json] = []
        for part in parts:
            words = part.text if part.text is not None else code_text(part)
            if part.function_call is not None:
                items.append(self.call_item(part.function_call))
            elif words and words.strip() and not part.thought:
                content = [{"type": "output_text", "text": words}]
                items.append({"type": "message", "role": "assistant", "content": content})
            elif (medium := medium_of(part)) is not None:
                self._report(f"model {medium.kind}", f"{medium.mime} of the model cannot be sent back and is left out")
        return items

    def result(self, call_id: str, response: FunctionResponse) -> tuple[Json, list[Json]]:
        """An output, which is text; media follow in a message of the user."""
        return output(call_id, response), [self.medium_or_words(medium) for medium in result_media(response)]

    def medium(self, medium: Medium) -> Json | None:
        """An image, or the text of a text file."""
        if words := medium.text:
            return self.text(words)
        if medium.is_image:
            return {"type": "input_image", "image_url": medium.data_url if medium.data is not None else medium.uri}
        return None


def output(call_id: str, response: FunctionResponse) -> Json:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": result_text(response)}


def items_of(contents: Sequence[Content], names: Names, report: Report) -> list[Json]:
    """The items of contents in their order; calls without a result get an error result."""
    items = Items(names, report)
    for content in contents:
        items.add(content)
    return items.whole()
