"""Calls: repairs a session whose calls have no result, or whose results have no call."""

from __future__ import annotations

from newel.sessions.call_pairs import CallPairs
from newel_adk.sessions.reading import Ready, ready
from newel_kernel import Event
from newel_types import Part

_REASON = "google-adk's session has no result of this call: it was interrupted, or its event cannot be read"


class Calls(CallPairs):
    """Reads all events of a session first, then says how each is repaired."""

    def errors(self, event: Event) -> Ready | None:
        """An event to follow `event`, with the results that its calls lack; None if none is missing."""
        missing = self.unanswered.get(event.id)
        if not missing:
            return None
        parts = [
            {"functionResponse": {"id": call.id, "name": call.name, "response": {"error": _REASON}}}
            for call in event.get_function_calls()
            if call.id in missing
        ]
        return ready(
            {
                "id": f"{event.id}-unanswered",
                "invocationId": event.invocation_id,
                "author": event.author,
                "branch": event.branch,
                "timestamp": event.timestamp,
                "content": {"role": "user", "parts": parts},
            }
        )

    def paired(self, item: Ready) -> Ready | None:
        """The event without the results that have no call; None if nothing is left of it."""
        stray = self.stray.get(item.event.id)
        content = item.event.content
        if not stray or content is None:
            return item
        parts = [part for part in content.parts or () if not _is_of(part, stray)]
        if not parts:
            return None
        event = item.event.model_copy(update={"content": content.model_copy(update={"parts": parts})})
        fields = event.model_dump(mode="json", by_alias=True, exclude_none=True)
        return ready(fields)


def _is_of(part: Part, ids: set[str]) -> bool:
    return part.function_response is not None and part.function_response.id in ids
