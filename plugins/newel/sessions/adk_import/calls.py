"""Calls: which of a session have no result, and which results have no call."""

from __future__ import annotations

from newel.sessions.adk_import.reading import Ready, ready
from newel_kernel import Event
from newel_types import Part

_REASON = "google-adk's session has no result of this call: it was interrupted, or its event cannot be read"


class Calls:
    """Sees the events of a session in their order, first."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._called: set[str] = set()
        #: Event id -> the ids of its calls that have no result. Those that wait for somebody are none of them.
        self.unanswered: dict[str, set[str]] = {}
        #: Event id -> the ids of its results that have no call.
        self.stray: dict[str, set[str]] = {}

    def see(self, event: Event) -> None:
        """The next event that may have a call or a result, or is a sub-agent's that took a call up."""
        self._open.pop(event.isolation_scope or "", None)
        for response in event.get_function_responses():
            if response.id:
                self._open.pop(response.id, None)
                if response.id not in self._called and event.author != "user":
                    self.stray.setdefault(event.id, set()).add(response.id)
        for call in event.get_function_calls():
            if call.id:
                self._called.add(call.id)
                self._give_up(call.id)
                if call.id not in (event.long_running_tool_ids or ()):
                    self._open[call.id] = event.id

    def end(self) -> None:
        """There are no more events."""
        for call_id in list(self._open):
            self._give_up(call_id)
        self._called.clear()

    def _give_up(self, call_id: str) -> None:
        event_id = self._open.pop(call_id, None)
        if event_id is not None:
            self.unanswered.setdefault(event_id, set()).add(call_id)

    def errors(self, event: Event) -> Ready | None:
        """The event with the results that `event`'s calls lack, to stand behind it; None where they lack none."""
        missing = self.unanswered.get(event.id)
        if not missing:
            return None
        parts = [
            {"functionResponse": {"id": call.id, "name": call.name, "response": {"error": _REASON}}}
            for call in event.get_function_calls()
            if call.id in missing
        ]
        return ready({
            "id": f"{event.id}-unanswered", "invocationId": event.invocation_id, "author": event.author,
            "branch": event.branch, "timestamp": event.timestamp, "content": {"role": "user", "parts": parts},
        })  # fmt: skip

    def paired(self, item: Ready) -> Ready | None:
        """The event without the results that have no call; None where nothing is left of it."""
        stray = self.stray.get(item.event.id)
        content = item.event.content
        if not stray or content is None:
            return item
        kept = [part for part in content.parts or () if not _is_of(part, stray)]
        if not kept:
            return None
        event = item.event.model_copy(update={"content": content.model_copy(update={"parts": kept})})
        fields = event.model_dump(mode="json", by_alias=True, exclude_none=True)
        return ready(fields)


def _is_of(part: Part, ids: set[str]) -> bool:
    return part.function_response is not None and part.function_response.id in ids
