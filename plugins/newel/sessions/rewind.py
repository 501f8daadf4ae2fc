"""Rewind: take a session back to before an invocation. The events stay; a further event says which no longer count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from newel.artifacts.base_artifact_service import BaseArtifactService
from newel.artifacts.stored_part import withdrawn
from newel.sessions.forks import undoing
from newel_kernel import ConfigurationError, Event, EventActions, Json, Log, Session, brief, new_invocation_id

State: TypeAlias = Json


async def rewind_event(session: Session, invocation_id: str, artifacts: BaseArtifactService | None) -> Event:
    """The event that takes `session` back to before `invocation_id`, with the state and the artifacts of that time.

    What other sessions share (``app:``, ``user:``) does not change. Artifacts are restored by saving a new version.
    """
    events = session.events
    first = Log(events).beginning(invocation_id)
    if first is None:
        raise ConfigurationError(f"Invocation ID not found: {brief(invocation_id)} (session {brief(session.id)!r})")
    return Event(
        invocation_id=new_invocation_id(),
        author="user",
        actions=EventActions(
            rewind_before_invocation_id=invocation_id,
            state_delta=undoing(session.state, events[:first], events[first:]),
            artifact_delta=await _restore(session, events[:first], events[first:], artifacts),
        ),
    )


async def _restore(
    session: Session, before: Sequence[Event], after: Sequence[Event], artifacts: BaseArtifactService | None
) -> dict[str, int]:
    """Save each session artifact that `after` changed as it was; one that did not exist becomes empty."""
    if artifacts is None:
        return {}
    then, since = _versions(before), _versions(after)
    delta: dict[str, int] = {}
    for name in since:
        if name.startswith("user:") or then.get(name) == since[name]:
            continue
        where: Json = {
            "app_name": session.app_name,
            "user_id": session.user_id,
            "session_id": session.id,
            "filename": name,
        }
        part = await artifacts.load_artifact(**where, version=then[name]) if name in then else None
        delta[name] = await artifacts.save_artifact(**where, artifact=withdrawn() if part is None else part)
    return delta


def _versions(events: Sequence[Event]) -> dict[str, int]:
    versions: dict[str, int] = {}
    for event in events:
        if event.touched_actions is not None:
            versions.update(event.touched_actions.artifact_delta)
    return versions
