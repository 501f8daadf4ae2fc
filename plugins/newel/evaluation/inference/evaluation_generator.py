"""EvaluationGenerator: stored events as Invocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from newel.evaluation.cases.app_details import AppDetails
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.inference.turn_recording import invocation_of
from newel_kernel import Event
from newel_types import Content, Part


class EvaluationGenerator:
    """Makes Invocations of stored events."""

    @staticmethod
    def convert_events_to_eval_invocations(
        events: Sequence[Event], app_details_per_invocation_id: Mapping[str, AppDetails] | None = None
    ) -> list[Invocation]:
        """One Invocation for each invocation id, in order; the user's event gives the user's content."""
        by_id: dict[str, list[Event]] = {}
        for event in events:
            by_id.setdefault(event.invocation_id, []).append(event)
        details = app_details_per_invocation_id or {}
        return [_invocation(name, own, details.get(name)) for name, own in by_id.items()]


def _invocation(invocation_id: str, events: Sequence[Event], details: AppDetails | None) -> Invocation:
    user = next((e for e in events if e.author == "user" and e.content is not None), None)
    content = user.content if user is not None else None
    turn = invocation_of(content or Content(role="user", parts=[Part(text="")]), events, details)
    update = {"invocation_id": invocation_id}
    if user is not None:
        return turn.model_copy(update={**update, "creation_timestamp": user.timestamp})
    return turn.model_copy(update=update)
