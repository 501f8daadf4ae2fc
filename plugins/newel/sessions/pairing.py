"""Pairing: no result without its call, which every store checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from newel_kernel import Event, PairingError, brief, response_ids

_NO_ID = {None}


def check_pairing(events: Sequence[Event], event: Event, coming: Sequence[Event] = ()) -> None:
    """Raise PairingError if an agent's `event` holds a result of a call that the session does not have.

    A provider refuses such a history for ever, so it must not be written. A user's message may answer a call of
    another session (such as an approval that arrives late); its receiver decides. `coming` are events that will follow
    `events`.
    """
    if event.content is None or event.author == "user":
        return
    if not (answered := response_ids(event.content)) or not (missing := {*answered} - _NO_ID):
        return
    for past in chain(reversed(coming), reversed(events)):
        for part in (past.content.parts or ()) if past.content is not None else ():
            if part.function_call is not None:
                missing.discard(part.function_call.id)
        if not missing:
            return
    unknown = sorted(brief(str(one)) for one in missing)
    raise PairingError(f"event {event.id} of {event.author!r} answers unknown call(s) {unknown}")
