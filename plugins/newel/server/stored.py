"""Stored sessions, served only to be looked at: without the code of their agents, and with nothing that writes."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from newel.server.apps import Apps, Place
from newel.server.refusals import Refusal
from newel.sessions import sqlite
from newel.sessions.contract import OwnedSessions, SessionOwner
from newel.sessions.documents import read_document, take_in
from newel.sessions.kinds import SessionBackend
from newel_compose import Composition, without_password
from newel_kernel import BaseSessionService, ConfigurationError, FeatureUnavailableError

NO_AGENT = (
    "the code of the agent is not here, because this server shows stored sessions: serve the agents with "
    "`newel web AGENTS_DIR --sessions URI`"
)
_DATABASES = (".db", ".sqlite", ".sqlite3")
_AGENTS = (".py", ".yaml", ".yml")
_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the sessions are that a server shows, and what else it can show of them."""

    #: The place in words: a file's name, or a URI without its password.
    place: str
    sessions: OwnedSessions
    has_artifacts: bool = False


class StoredApps(Apps):
    """The apps of a server without their code."""

    def __init__(self, composition: Composition) -> None:
        super().__init__(composition, None, None)

    def place(self, name: str) -> Place:
        """Refuses: there is no code of an app."""
        _refuse()

    def folder_of(self, name: str) -> Path:
        """Refuses: there is no folder of an app."""
        _refuse()


def _refuse() -> NoReturn:
    raise Refusal(409, NO_AGENT)


def stored_at(reference: str, composition: Composition) -> str | None:
    """The address of the sessions that `reference` names; None: it names agents.

    Sessions are an SQLite file, the URI of a session store, or a session that was exported as JSON.
    """
    scheme, colon, _ = reference.partition(":")
    if "://" in reference or (colon and scheme in composition.registry.owned(SessionBackend)):
        return reference
    suffix = os.path.splitext(reference)[1].lower()
    if not os.path.isfile(reference):
        if (suffix in _DATABASES or suffix == ".json") and not os.path.exists(reference):
            raise ConfigurationError(
                f"there is no file {reference!r}: name the file of sessions, or a folder of agents"
            )
        return None
    if suffix in _AGENTS:
        return None
    if suffix == ".json":
        return reference
    if not _is_database(reference):
        raise ConfigurationError(
            f"{reference!r} has no sessions: name an SQLite file of sessions, a session that was exported as JSON, the "
            f"URI of a session store, or a folder of agents"
        )
    return f"sqlite:{os.path.abspath(reference)}"


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise ConfigurationError(f"{path!r} cannot be read: {error.strerror or error}") from error


def opened_to_read(address: str, composition: Composition) -> BaseSessionService:
    """The sessions at an address that `stored_at` returned, which nothing writes."""
    scheme = address.partition(":")[0]
    backend = composition.registry.owned(SessionBackend).get(scheme)
    if backend is None:
        return _unknown(address, composition) if "://" in address else _document(address)
    store: BaseSessionService
    if backend.item.read_in is not None:
        store = backend.item.read_in(address, composition)
        return store
    if backend.item.read is None:
        backends = composition.registry.owned(SessionBackend)
        can = sorted(name for name, one in backends.items() if one.item.read or one.item.read_in)
        raise FeatureUnavailableError(
            f"sessions at {without_password(address)!r} cannot be opened only to read, as those of {', '.join(can)} "
            f"can: serve their agents with `newel web AGENTS_DIR --sessions URI`"
        )
    store = backend.item.read(address)
    return store


def _unknown(address: str, composition: Composition) -> NoReturn:
    """Say which plugin an address of this kind needs."""
    composition.open_service(SessionBackend, address)
    raise AssertionError("a store of a scheme that no plugin has was opened")


def _document(path: str) -> BaseSessionService:
    """The session of an exported file, in memory."""
    try:
        document = read_document(Path(path).read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path!r} cannot be read: {error.strerror or error}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path!r} is not an exported session: {error}") from error
    store = sqlite.SqliteSessionService(":memory:")
    with ThreadPoolExecutor(1) as pool:  # a loop may be running here
        pool.submit(asyncio.run, take_in(store, document)).result()
    return store


def owned(store: BaseSessionService) -> OwnedSessions:
    """The store, if it can say whose sessions it holds."""
    if not isinstance(store, OwnedSessions):
        raise FeatureUnavailableError(f"{type(store).__name__} cannot say whose sessions it holds")
    return store


async def owners_at(address: str, composition: Composition) -> list[SessionOwner]:
    """Who has sessions at an address; ConfigurationError says in a line why they cannot be read."""
    store = opened_to_read(address, composition)
    try:
        return await owned(store).owners()
    finally:
        await store.close()


def place_of(address: str) -> str:
    """An address as it is shown: a file by its name."""
    if address.startswith("sqlite:") or "://" not in address:
        return os.path.basename(address)
    return without_password(address)
