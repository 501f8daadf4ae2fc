"""Steering: messages that come in while a run is under way, and are told to its agent before its next model call.

Such a message is stored at once and stays where it came in. A note of the run says that it was told, and a model reads
the message where the note stands: what the model had said before does not answer it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from newel_kernel import Event, InvocationContext

#: The key in the metadata of such a message, and the one with the ids of the messages that a note tells.
STEERS = "newel.steers"
TELLS = "newel.tells"


def is_steering(event: Event) -> bool:
    """Whether the event is a message that came in while a run was under way."""
    return event.author == "user" and event.custom_metadata is not None and STEERS in event.custom_metadata


def told_by(event: Event) -> Sequence[str]:
    """The ids of the messages that the event, a note, tells."""
    metadata = event.custom_metadata
    ids = metadata.get(TELLS) if metadata is not None and event.author != "user" else None
    return ids if isinstance(ids, list) else ()


def note(ctx: InvocationContext, messages: Iterable[Event]) -> Event:
    """The note that `messages` are told now."""
    ids = [message.id for message in messages]
    return Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, custom_metadata={TELLS: ids})


def in_order(events: Sequence[Event]) -> tuple[list[Event], list[Event]]:
    """The events with each message where it was told, and the messages that are not told yet."""
    messages = {event.id: event for event in events if is_steering(event)}
    if not messages:
        return list(events), []
    result: list[Event] = []
    for event in events:
        if is_steering(event):
            continue
        result.append(event)
        result.extend(messages.pop(one) for one in told_by(event) if one in messages)
    return result, [*messages.values()]
