"""An append whose answer is lost is stored once and acknowledged, whoever has read it meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.sessions.stored import pooled
from newel.sessions.stored.steps import Batch
from newel_kernel import AlreadyExistsError, Event

AT: dict[str, Any] = {"app_name": "app", "user_id": "u", "session_id": "s"}


@pytest.mark.parametrize("hold", [False, True])
def test_an_append_is_known_again_after_another_view_has_read_it(
    make_store: Any, hold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost after the commit, and another view of the process reads the log before the next attempt."""
    lost: list[str] = []
    retry = pooled.PooledDatabase._committed_again

    class Losing(Batch):
        def grow(self) -> None:
            if not lost:
                lost.append("the answer")
                raise pooled.Trouble("the answer is lost")
            Batch.grow(self)

    async def main() -> None:
        async with make_store() as store:
            if not isinstance(store._database, pooled.PooledDatabase):
                pytest.skip("no answer of a file is lost")

            async def read_before(self: Any, items: Any) -> None:
                assert len((await store.open(**AT)).events) == 2
                await retry(self, items)

            monkeypatch.setattr(pooled.PooledDatabase, "_committed_again", read_before)
            await store.create_session(**AT)
            view = await store.open(**AT)
            if hold:
                store.hold(view, 10.0)
            await store.append_event(view, Event(author="a", message="first"))
            monkeypatch.setattr(pooled, "Batch", Losing)
            await store.append_event(view, Event(author="a", message="second", state={"n": 1}, id="z-second"))
            assert lost
            assert [one.id for one in view.events][1:] == ["z-second"]
            assert view.state == {"n": 1}
            await store.append_event(view, Event(author="a", message="third", id="z-third"))
            with pytest.raises(AlreadyExistsError):
                await store.append_event(view, Event(author="a", message="second", id="z-second"))
        async with make_store() as other:
            again = await other.get_session(**AT)
            assert [one.id for one in again.events][1:] == ["z-second", "z-third"]

    asyncio.run(main())
