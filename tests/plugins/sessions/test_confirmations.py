"""A confirmation whose answer comes late confirms nothing: it is asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService, StoreUnavailableError
from newel.sessions.stored import clockwork

S1 = {"app_name": "a", "user_id": "u", "session_id": "s1"}
#: The lease's seconds; its owner believes in it for half of them.
LEASE = 2.0


class Late:
    """A database whose answers to the next writes come late."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.late, self.asked = 0, 0

    async def commit(self, write: Any, then: Any = None) -> Any:
        result = await self._database.commit(write, then)
        self.asked += 1
        if self.late:
            self.late -= 1
            await asyncio.sleep(LEASE * 0.6)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


@pytest.mark.parametrize("late", [0, 1, 2, 5])
def test_a_late_answer_is_asked_for_again(late: int, tmp_path: Path) -> None:
    async def run() -> None:
        async with SqliteSessionService(tmp_path / "s.db") as service:
            made: list[Late] = []
            service.reach(lambda database: made.append(Late(database)) or made[0])  # type: ignore[func-returns-value, return-value]
            await service.create_session(**S1)
            view = await service.claim(**S1, owner="me", ttl=LEASE)
            assert view is not None
            lease = service._leases.of(view)
            assert lease is not None
            lease.since -= LEASE * 0.6  # half of it is over
            made[0].late, made[0].asked = late, 0
            confirmation = service.confirm(view)
            assert confirmation is not None
            if late == 5:
                with pytest.raises(StoreUnavailableError, match="could not be confirmed"):
                    await confirmation
                assert made[0].asked == 5
            else:
                await confirmation
                assert made[0].asked == late + 1
                assert clockwork.elapsed() < lease.sure_until

    asyncio.run(run())
