"""The short way of encoding events of texts is the same as the general one."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.sessions.stored.encoding import encode_any
from newel.sessions.stored.texts import decode_texts, encode_texts
from newel_kernel import Event, EventActions, SessionError
from newel_types import Blob, Content, FunctionCall, Part

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_PART = st.builds(Part, text=_TEXT)


@settings(deadline=None, max_examples=300)
@given(
    parts=st.lists(_PART, max_size=3),
    role=st.none() | _TEXT,
    author=_TEXT,
    invocation=_TEXT,
    branch=st.none() | _TEXT,
    time=st.floats(-1e299, 1e299),
    id_=_TEXT,
)
def test_texts_are_encoded_as_ever(
    parts: list[Part], role: str | None, author: str, invocation: str, branch: str | None, time: float, id_: str
) -> None:
    event = Event(
        author=author,
        invocation_id=invocation,
        content=Content(role=role, parts=parts),
        branch=branch,
        timestamp=time,
        id=id_,
    )
    short = encode_texts(event)
    general = encode_any(event)
    assert short is not None
    assert (short[1], short[0]) == (general.data, general.event)
    assert short[0].content is not event.content
    read = decode_texts(short[1])
    assert read == (short[0] if parts else None)
    assert decode_texts(short[1].decode()) == read


_CHANGES: list[tuple[str, str]] = [
    ('"author":"a"', '"author":5'),
    ('"author":"a",', ""),
    ('"id":"i"', '"id":""'),
    ('"id":"i"', '"id":"i","futureField":1'),
    ('"timestamp":1.5', '"timestamp":1'),
    ('"timestamp":1.5', '"timestamp":"1.5"'),
    ('"role":"user"', '"role":null'),
    ('"role":"user"', '"role":"user","more":1'),
    ('{"text":"x"}', '{"text":5}'),
    ('{"text":"x"}', '{"text":"x","thought":true}'),
    ('{"text":"x"}', '{"text":"x"},7'),
    ('{"text":"x"}', '{"text":"x"},{}'),
    ("}", ""),
    ('"role":"user"', '"parts":{}'),
    ('"role":"user"', '"parts":""'),
    ('"role":"user"', '"parts":[{"text":"y"}]'),
]


@pytest.mark.parametrize(("old", "new"), _CHANGES)
def test_another_form_is_read_in_the_general_way(old: str, new: str) -> None:
    event = Event(author="a", message="x", id="i", timestamp=1.5)
    short = encode_texts(event)
    assert short is not None
    data = short[1].decode()
    assert decode_texts(data) == short[0]
    changed = data.replace(old, new)
    assert changed != data
    read = decode_texts(changed)
    try:
        general = Event.model_validate_json(changed)
    except ValueError:
        assert read is None
    else:
        assert read is None or read == general


def unknown(event: Event) -> Event:
    return Event.model_validate({**event.model_dump(by_alias=True, exclude_none=True), "futureField": 1})


@pytest.mark.parametrize(
    "event",
    [
        Event(author="a"),
        Event(author="a", content=Content()),
        Event(author="a", content=Content(parts=[Part(text="x", thought=True)])),
        Event(author="a", content=Content(parts=[Part(text="x"), Part(inline_data=Blob(data=b"x", mime_type="a/b"))])),
        Event(author="a", content=Content(parts=[Part(function_call=FunctionCall(name="f"))])),
        Event(author="a", message="x", state={"a": 1}),
        Event(author="a", message="x", actions=EventActions()),
        Event(author="a", message="x", error_code="E"),
        Event(author="a", message="x", custom_metadata={"a": 1}),
        Event(author="a", message="x", timestamp=math.inf),
        Event(author="a", message="x", long_running_tool_ids={"a"}),
        unknown(Event(author="a", message="x")),
    ],
)
def test_what_has_more_than_texts_takes_the_general_way(event: Event) -> None:
    assert encode_texts(event) is None
    encode_any(event)


@pytest.mark.parametrize("field", ["author", "invocation_id", "branch"])
def test_what_is_no_text_is_refused_by_the_general_way(field: str) -> None:
    values: dict[str, Any] = {"author": "a", field: 5}
    event = Event(**values, content=Content(parts=[Part(text="x")]))
    assert encode_texts(event) is None
    with pytest.raises(SessionError):
        encode_any(event)
    assert encode_texts(Event(author="a", content=Content(parts=[Part(text="\ud800")]))) is None


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_half_a_character_in_the_state_of_a_new_session_is_replaced(kind: str, tmp_path: Path) -> None:
    store: Any = InMemorySessionService() if kind == "memory" else SqliteSessionService(str(tmp_path / "s.db"))

    async def main() -> dict[str, Any]:
        state = {"k": ["x\ud800y"], "user:\udc00": "ü"}
        made = await store.create_session(app_name="a", user_id="u", session_id="s", state=state)
        found = await store.get_session(app_name="a", user_id="u", session_id="s")
        assert dict(made.state) == dict(found.state)
        return dict(found.state)

    assert asyncio.run(main()) == {"k": ["x\ufffdy"], "user:\ufffd": "ü"}
