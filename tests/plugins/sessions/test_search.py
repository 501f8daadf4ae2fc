"""Search: what a store finds by itself holds every session that has the texts, whatever their letters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from newel.sessions import SqliteSessionService
from newel.sessions.contract import SearchableSessions
from newel_kernel import BaseSessionService, Event
from newel_types import Content, Part

HERE = {"app_name": "shop", "user_id": "ann"}
#: Two letters have small forms of another kind: K (Kelvin) and a dotted I.
LETTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from("kKiIsS\u212a\u0130\u0131\u0307\u017f")
TEXT = st.text(LETTERS, min_size=1, max_size=20).filter(str.strip)


async def filled(store: Any, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        await store.create_session(**HERE, session_id=f"s{number}")
        view = await store.open(**HERE, session_id=f"s{number}")
        content = Content(role="user", parts=[Part(text=text)])
        await store.append_event(view, Event(author="user", invocation_id="e", content=content))


@given(TEXT, st.sampled_from([str.lower, str.upper, str]))
@settings(max_examples=150, deadline=None)
def test_each_word_of_a_text_is_found_in_any_case(text: str, spelt: Callable[[str], str]):
    async def search(path: Path) -> None:
        store = SqliteSessionService(path)
        await filled(store, [text])
        asked = [spelt(one) for one in text.split() if spelt(one).lower() == one.lower()]
        assert await store.containing(**HERE, texts=asked) == ["s0"]
        await store.close()

    with TemporaryDirectory() as folder:
        asyncio.run(search(Path(folder) / "s.db"))


def test_what_has_no_such_text_is_not_read(make_store: Callable[[], BaseSessionService]):
    async def search() -> None:
        store = make_store()
        assert isinstance(store, SearchableSessions)
        await filled(store, ["One ÄPFEL", 'a "quoted" 100% \\ line\nwith two', "other", "Straße_1!"])
        await store.create_session(**HERE, session_id="titled", state={"__session_metadata__": {"displayName": "Pear"}})
        await store.create_session(app_name="shop", user_id="bo", session_id="not-hers", state={"a": "other"})
        for texts, ids in (
            (["äpfel"], ["s0"]),
            (["one", "ÄPFEL"], ["s0"]),
            (["one", "other"], []),
            (['"quoted"'], ["s1"]),
            (["100%"], ["s1"]),
            (["1__%"], []),
            (["\\"], ["s1"]),
            (["STRASSE"], []),
            (["straße_1!"], ["s3"]),
            (["PEAR"], ["titled"]),
            ([], ["titled", "s3", "s2", "s1", "s0"]),
        ):
            assert await store.containing(**HERE, texts=texts) == ids, texts
        await store.close()

    asyncio.run(search())
