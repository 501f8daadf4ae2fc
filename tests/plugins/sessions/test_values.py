"""What a store keeps is a value: every store gives the same values back, refuses the same, and shares nothing."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import math
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService
from newel_kernel import Event, SessionError

AT: dict[str, Any] = {"app_name": "app", "user_id": "u", "session_id": "s"}


class Model(BaseModel):
    n: Any = 1


@dataclasses.dataclass
class Data:
    n: Any = 1


def leaf(draw: random.Random) -> Any:
    return draw.choice(
        [
            None, True, 0, -1, 2**70, 1.5, -0.0, math.inf, "", "text", "ü\x00", "half \ud800", b"bytes", (1, 2), {3},
            frozenset(), datetime.date(2026, 1, 1), Path("/x"), Model(), Data(), object(), 10**5000,
            collections.deque([1]),
        ]
    )  # fmt: skip


def value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(6) if depth else 9
    if kind == 0:
        return [value(draw, depth - 1) for _ in range(draw.randrange(3))]
    if kind == 1:
        return {
            draw.choice(["a", 1, None, True, "half \ud800"]): value(draw, depth - 1) for _ in range(draw.randrange(3))
        }
    if kind == 2:
        return draw.choice([Model, Data])(n=value(draw, depth - 1))
    if kind == 3:
        return (value(draw, depth - 1),)
    return leaf(draw)


def stores(folder: Path) -> list[Any]:
    sqlite = SqliteSessionService(folder / "s.db")
    return [InMemorySessionService(), sqlite, DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/d.db")]


async def answer(store: Any, initial: Any, event: Event) -> Any:
    """What the store says to a new session and an append: the error's class, or all that it gives back."""
    try:
        session = await store.create_session(**AT, state=initial)
        await store.append_event(session, event)
    except SessionError as error:
        return type(error).__name__, str(error).partition(" cannot be stored: ")[2]
    again = await store.get_session(**AT)
    actions = again.events[0].touched_actions
    return repr((session.state, again.state, again.events[0].output, again.events[0].custom_metadata, actions))


@pytest.mark.parametrize("seed", range(6))
def test_all_stores_give_the_same_answers(tmp_path: Path, seed: int) -> None:
    async def main() -> None:
        draw = random.Random(seed)
        opened = stores(tmp_path)
        for number in range(40):
            key = draw.choice(["k", "app:k", "user:k"])
            made = value(draw, 3)
            place = draw.choice(["initial", "delta", "output", "custom_metadata", "agent_state", "route"])
            answers = []
            for store in opened:
                event = Event(author="a", id=f"e{number}", timestamp=1.0, message="m")
                initial = {key: made, "temp:x": 1} if place == "initial" else None
                if place == "delta":
                    event.actions.state_delta = {key: made, "temp:x": 1}
                elif place in ("agent_state", "route"):
                    setattr(event.actions, place, {"v": made})
                elif place != "initial":
                    setattr(event, place, {"v": made})
                answers.append(await answer(store, initial, event))
                await store.delete_session(**AT)
            assert answers[0] == answers[1] == answers[2], (place, made)
        for store in opened[1:]:
            await store.close()

    asyncio.run(main())


def test_what_the_caller_changes_later_changes_no_history(tmp_path: Path) -> None:
    async def main() -> None:
        for store in stores(tmp_path):
            initial: dict[str, Any] = {"i": {"a": []}}
            session = await store.create_session(**AT, state=initial)
            cart, output, metadata = [1], {"o": []}, {"m": []}
            event = Event(author="a", message="m", state={"cart": cart, "app:cart": cart}, output=output)
            event.custom_metadata = metadata
            live = await store.open(**AT)
            await store.append_event(live, event)
            for changed in (
                initial["i"]["a"],
                cart,
                output["o"],
                metadata["m"],
                live.state["cart"],
                live.state["app:cart"],
            ):
                changed.append("later")
            session.state["i"]["a"].append("later")
            again = await store.get_session(**AT)
            assert again.state == {"i": {"a": []}, "cart": [1], "app:cart": [1]}
            stored = again.events[0]
            assert (stored.output, stored.custom_metadata) == ({"o": []}, {"m": []})
            assert stored.actions.state_delta == {"cart": [1], "app:cart": [1]}
            if not isinstance(store, InMemorySessionService):
                await store.close()

    asyncio.run(main())
