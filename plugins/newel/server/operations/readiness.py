"""Readiness: whether the stores answer and the apps can be loaded; looked at now and then, however often asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.server.operations.load import LOAD
from newel.server.places import Place
from newel.server.refusals import logged
from newel_kernel import Key, seam

if TYPE_CHECKING:
    from newel.server.state import State

#: How long a look holds, and how long an app that could not be loaded is left alone, in seconds.
_FRESH, _RETRY = 2.0, 60.0
#: How long the stores, and the apps, have to answer.
_PATIENCE = 5.0
_NOBODY = Place(app_name="newel-ready", user_id="newel-ready", session_id="newel-ready")
READINESS: Key[Readiness] = Key("readiness")


class Fault(BaseModel):
    """What cannot be used: a store, or an app; the server's log says more under the reference."""

    store: str | None = None
    app: str | None = None
    ref: str | None = None


class ReadyAnswer(BaseModel):
    """Whether work may come here, and what cannot be used. Other apps work although one does not."""

    status: str
    failed: list[Fault] | None = None


class Readiness:
    """The last look at the stores and apps of a server."""

    def __init__(self, server: State) -> None:
        self._server = server
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._answer = (503, ReadyAnswer(status="starting"))
        #: App -> the reference under which the log says why it cannot be loaded; None: it is loaded.
        self._apps: dict[str, str | None] = {}
        self._loading: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        server.closing.append(self)

    async def look(self) -> tuple[int, ReadyAnswer]:
        """The status and the answer; those who ask at the same time share one look."""
        if LOAD.draining:
            return 503, ReadyAnswer(status="draining")
        async with self._lock:
            if seam.monotonic() >= self._until:
                self._answer = await self._looked()
                self._until = seam.monotonic() + _FRESH
        return self._answer

    async def close(self) -> None:
        """Stop loading apps."""
        if self._loading is not None:
            self._loading.cancel()
            with suppress(asyncio.CancelledError):
                await self._loading

    async def _looked(self) -> tuple[int, ReadyAnswer]:
        services = self._server.services
        artifacts = services.artifact
        assert artifacts is not None  # the app opens one for every kind
        stores = await asyncio.gather(
            _fault("sessions", lambda: services.session.get_session(**_NOBODY)),
            _fault("artifacts", lambda: artifacts.list_artifact_keys(**_NOBODY)),
            self._load(),
        )
        failed = [one for one in stores if one is not None]
        if failed:
            return 503, ReadyAnswer(status="a store cannot be reached", failed=failed)
        if self._loading is not None and not self._loading.done():
            return 503, ReadyAnswer(status="the apps are being loaded")
        broken = [Fault(app=name, ref=ref) for name, ref in sorted(self._apps.items()) if ref is not None]
        if broken and len(broken) == len(self._apps):
            return 503, ReadyAnswer(status="no app can be loaded", failed=broken)
        return 200, ReadyAnswer(status="ready", failed=broken or None)

    async def _load(self) -> None:
        """Load the apps that are not loaded yet, one after the other; what takes too long goes on behind."""
        if self._loading is None or self._loading.done():
            self._loading = seam.spawn(self._load_all(), name="readiness")
        await asyncio.wait([self._loading], timeout=_PATIENCE)

    async def _load_all(self) -> None:
        names = self._server.apps.places()
        retries = seam.monotonic() >= self._retry_at
        known, self._apps = self._apps, {}
        for name in names:
            if name in known and (known[name] is None or not retries):
                self._apps[name] = known[name]
                continue
            self._retry_at = seam.monotonic() + _RETRY
            try:
                await self._server.apps.source(name)
            except Exception as error:  # noqa: BLE001 - importing an app runs its code
                self._apps[name] = logged(error)["ref"]
            else:
                self._apps[name] = None


async def _fault(store: str, ask: Callable[[], Awaitable[object]]) -> Fault | None:
    try:
        async with asyncio.timeout(_PATIENCE):
            await ask()
    except Exception as error:  # noqa: BLE001 - whatever keeps the store from answering
        return Fault(store=store, ref=logged(error)["ref"])
    return None
