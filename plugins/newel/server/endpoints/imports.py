"""Imports: a session that was exported, taken in as one of the user's."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel
from pydantic_core import to_json

from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import owner
from newel.server.refusals import Refusal
from newel.sessions.documents import read_document, take_in
from newel.sessions.stored.rows import Key
from newel.sessions.stored.service import StoredSessionService
from newel_kernel import ConfigurationError, Json, SessionError


class ImportAnswer(BaseModel):
    """The session that was taken in; not `added`: it was already there."""

    id: str
    events: int
    added: bool


@endpoint(body=Json, answer=ImportAnswer)
async def import_session(call: Call) -> object:
    """Take in a session, as `newel sessions export` or this API writes it, for the user and the app of the path."""
    store = call.server.services.session
    if not isinstance(store, StoredSessionService):
        raise Refusal(409, f"{type(store).__name__} cannot take in sessions: start the server with --sessions URI")
    try:
        document = read_document(to_json(call.body, inf_nan_mode="constants"))
    except ConfigurationError as error:
        raise Refusal(422, str(error)) from None
    own = replace(document, key=Key(**owner(call), id=document.key.id))
    try:
        added = await take_in(store, own)
    except SessionError as error:
        raise Refusal(409, str(error)) from None
    return ImportAnswer(id=own.key.id, events=len(own.events), added=added)
