"""Owners: the users of all apps who have sessions."""

from __future__ import annotations

from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body
from newel.server.refusals import Refusal
from newel.sessions.contract import OwnedSessions


class OwnerAnswer(Body):
    """A user of an app, how many sessions they have, and when one of them was last changed."""

    app_name: str
    user_id: str
    sessions: int
    last_update_time: float


@endpoint(answer=list[OwnerAnswer])
async def list_owners(call: Call) -> object:
    """Who has sessions, of which apps. A caller who is known sees themselves."""
    store = call.server.services.session
    if not isinstance(store, OwnedSessions):
        raise Refusal(409, f"{type(store).__name__} cannot say whose sessions it holds")
    owners = await store.owners()
    return [OwnerAnswer(**one._asdict()) for one in owners if call.user in (None, one.user_id)]
