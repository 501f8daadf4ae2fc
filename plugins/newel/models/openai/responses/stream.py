"""Stream: the events of a streamed response, as they come and as the response that they make up."""

from __future__ import annotations

from dataclasses import dataclass, field

from newel.models.openai.reading import check, failure, is_text
from newel.models.openai.wrapping import Unwrapping
from newel.models.wire.service import Service
from newel_kernel import Json, LlmResponse
from newel_types import Content, Part

_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))
_THOUGHTS = frozenset(("response.reasoning_summary_text.delta", "response.reasoning_text.delta"))


@dataclass(slots=True)
class _Item:
    """An item of the output, as far as it has arrived."""

    item: Json
    text: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    done: bool = False

    def settled(self) -> Json:
        """The item; one that the service never completed is put together from its pieces."""
        if self.done:
            return self.item
        item = dict(self.item)
        if item.get("type") == "function_call":
            item["arguments"] = "".join(self.arguments)
        elif item.get("type") == "message" and self.text:
            item["content"] = [{"type": "output_text", "text": "".join(self.text)}]
        elif item.get("type") == "reasoning" and self.text:
            item["summary"] = [{"type": "summary_text", "text": "".join(self.text)}]
        return item


class Assembly:
    """Puts one response together."""

    def __init__(self, service: Service, *, wrapped: bool = False) -> None:
        self._service = service
        self._unwrapping = Unwrapping() if wrapped else None
        self._items: dict[int, _Item] = {}
        self._end: Json | None = None
        self._model: str | None = None

    def feed(self, event: Json) -> LlmResponse | None:
        """Take an event; return its partial response, or None. Raises a reported failure; ignores unknown events."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            return self._text(event)
        if kind in _THOUGHTS:
            return self._thought(event)
        if kind == "error":
            raise failure(event.get("error") or event, self._service)
        check(event, self._service)
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._item(event, done=kind.endswith("done"))
        elif kind in ("response.function_call_arguments.delta", "response.function_call_arguments.done"):
            self._arguments(event)
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            return self._thought({**event, "delta": "\n\n"})
        elif isinstance(event.get("response"), dict):
            self._note(event["response"], ends=kind in _ENDS)
        return None

    def close(self) -> Json:
        """The whole response, in the form of an unstreamed answer. Raises an error if it never ended."""
        if self._end is None:
            raise self._service.cut_short("the stream ended before the response was completed")
        if self._end.get("output"):
            return self._end
        return {**self._end, "output": [self._items[index].settled() for index in sorted(self._items)]}

    def _note(self, response: Json, *, ends: bool) -> None:
        if is_text(response.get("model")):
            self._model = response["model"]
        if ends:
            self._end = response

    def _item(self, event: Json, *, done: bool) -> None:
        item = event.get("item")
        if not isinstance(item, dict):
            return
        index = _index(event, len(self._items))
        open_item = self._items.get(index)
        if open_item is None:
            self._items[index] = _Item(item, done=done)
        elif done:
            open_item.item, open_item.done = item, True

    def _arguments(self, event: Json) -> None:
        item = self._items.get(_index(event, -1))
        if item is None:
            return
        if isinstance(event.get("arguments"), str):  # all of them, whatever the pieces were
            item.arguments = [event["arguments"]]
        elif isinstance(event.get("delta"), str):
            item.arguments.append(event["delta"])

    def _piece(self, event: Json) -> str | None:
        """The piece of text in `event`, noted for its item; None if it has none."""
        delta = event.get("delta")
        if not is_text(delta):
            return None
        item = self._items.get(_index(event, -1))
        if item is not None:
            item.text.append(delta)
        return delta

    def _text(self, event: Json) -> LlmResponse | None:
        if (delta := self._piece(event)) is None:
            return None
        text = self._unwrapping.feed(delta) if self._unwrapping is not None else delta
        return LlmResponse(Content([Part(text=text)], "model"), True, self._model) if text else None

    def _thought(self, event: Json) -> LlmResponse | None:
        if (delta := self._piece(event)) is None:
            return None
        return LlmResponse(Content([Part(text=delta, thought=True)], "model"), True, self._model)


def _index(event: Json, default: int) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else default
