"""Progress: partial events that tell how far a tool's call has come, to who follows the run. None is stored."""

from __future__ import annotations

import asyncio

from newel_kernel import Event, InvocationContext, Json, StreamingMode

#: In the `custom_metadata` of a partial event without content.
PROGRESS = "newel.progress"
#: A consumer that does not come for its events misses some.
_MOST_WAITING = 32


def progress_of(event: Event) -> Json | None:
    """What a partial event tells of a call: `call_id`, `tool`, `progress`, `total` and `message`; None for others."""
    found = (event.custom_metadata or {}).get(PROGRESS) if event.partial else None
    return found if isinstance(found, dict) else None


def tell_progress(ctx: InvocationContext, told: Json) -> None:
    """Leave an event for who follows the run, if it streams and the agent's tools have a place to leave events."""
    meeting = ctx.meeting
    if meeting is None or meeting.closed or ctx.run_config.streaming_mode is not StreamingMode.SSE:
        return
    if len(meeting.waiting) >= _MOST_WAITING:
        return
    event = Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        isolation_scope=ctx.isolation_scope,
        partial=True,
        custom_metadata={PROGRESS: told},
    )
    meeting.waiting.append((event, asyncio.get_running_loop().create_future()))
    meeting.wake()
