"""Worker readiness: whether the stores and the engine of a worker answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from newel.engines import BaseEngine
from newel.engines.places import Place
from newel.events.text import one_line
from newel_kernel import BaseSessionService, NewelError, class_name, seam

#: How long a look holds, and how long a store or the engine has to answer, in seconds.
_FRESH, _PATIENCE = 2.0, 5.0
_NOBODY = "newel-ready"


class WorkerReadiness:
    """The last look at what a worker cannot do without."""

    def __init__(self, engine: BaseEngine, stores: Iterable[BaseSessionService]) -> None:
        self._engine = engine
        self._stores = [*{id(store): store for store in stores}.values()]
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._fault: str | None = None

    async def look(self) -> str | None:
        """What cannot be reached, in words; None: all can. Those who ask at the same time share one look."""
        async with self._lock:
            if seam.monotonic() >= self._until:
                self._fault = await self._looked()
                self._until = seam.monotonic() + _FRESH
        return self._fault

    async def _looked(self) -> str | None:
        nobody = Place(app_name=_NOBODY, user_id=_NOBODY, session_id=_NOBODY)
        faults = await asyncio.gather(
            *(_fault("the session store", store.get_session(**nobody)) for store in self._stores),
            _fault("the engine", self._engine.record(f"{_NOBODY}:{_NOBODY}")),
        )
        return "; ".join(dict.fromkeys(one for one in faults if one is not None)) or None


async def _fault(what: str, ask: Awaitable[object]) -> str | None:
    """How it fails, on one line; the text of an error that is not ours may hold what nobody should read."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await ask
    except TimeoutError:
        return f"{what} has not answered within {_PATIENCE:g} s: is it up, and its address right?"
    except NewelError as error:
        return one_line(error)  # it says what is away
    except Exception as error:  # noqa: BLE001 - a plugin boundary
        return f"{what} cannot be reached: {class_name(error)}"
    return None
