"""CallPairs: which calls of a session have no result, and which results have no call."""

from __future__ import annotations

from collections.abc import Set

from newel_kernel import Event


class CallPairs:
    """Reads the events of a session in order."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._called: set[str] = set()
        #: Event id -> the ids of its calls that have no result. Calls that still wait for one are left out.
        self.unanswered: dict[str, set[str]] = {}
        #: Event id -> the ids of its results that have no call.
        self.stray: dict[str, set[str]] = {}

    @property
    def waiting(self) -> Set[str]:
        """The ids of the calls whose results may still come."""
        return self._open.keys()

    def see(self, event: Event) -> None:
        """Read the next event. Only events with a call or a result, or of a sub-agent that took up a call, matter."""
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
        """Note that no more events follow."""
        for call_id in list(self._open):
            self._give_up(call_id)
        self._called.clear()

    def _give_up(self, call_id: str) -> None:
        event_id = self._open.pop(call_id, None)
        if event_id is not None:
            self.unanswered.setdefault(event_id, set()).add(call_id)
