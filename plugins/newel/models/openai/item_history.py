"""ItemHistory: a conversation as items, as in the Responses API and the Realtime API."""

from __future__ import annotations

from newel.models.openai.history import History, as_json
from newel_kernel import Json
from newel_types import FunctionCall


class ItemHistory(History):
    """The items that both APIs have in common."""

    def call_item(self, call: FunctionCall) -> Json:
        """The item of a function call."""
        fields = {"call_id": self.call_id(call), "name": self.name(call), "arguments": as_json(call.args or {})}
        return {"type": "function_call", **fields}

    def no_result(self, call_id: str, text: str) -> Json:
        """An error as the output."""
        return {"type": "function_call_output", "call_id": call_id, "output": as_json({"error": text})}

    def user(self, parts: list[Json]) -> Json:
        """A message of the user."""
        return {"type": "message", "role": "user", "content": parts}

    def text(self, text: str) -> Json:
        """The content item of a text."""
        return {"type": "input_text", "text": text}
