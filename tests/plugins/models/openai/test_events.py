"""Events: server-sent events, however their bytes are cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.openai.events import EventReader, events
from newel.models.wire.service import Service
from newel_kernel import Json, ModelError

SERVICE = Service("openai", "gpt-x")

#: A loaded machine draws values slowly.
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def read(*pieces: bytes) -> list[Json]:
    async def body() -> AsyncGenerator[bytes, None]:
        for piece in pieces:
            yield piece

    async def collect() -> list[Json]:
        return [event async for event in events(body(), SERVICE)]

    return asyncio.run(collect())


@SLOW
@given(
    values=st.lists(st.dictionaries(st.text(), st.text() | st.integers()), min_size=1),
    end=st.sampled_from([b"\n", b"\r\n"]),
    size=st.integers(1, 40),
)
def test_events_come_out_as_they_went_in(values: list[Json], end: bytes, size: int) -> None:
    lines = [b"data: " + json.dumps(value, ensure_ascii=False).encode() + end + end for value in values]
    whole = b": hello" + end + b"event: x" + end + b"".join(lines) + b"data: [DONE]" + end + end
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert read(*pieces) == values


def test_data_on_several_lines_is_one_event() -> None:
    assert list(EventReader().feed(b'data: {"a":\ndata: 1}\n\n')) == ['{"a":\n1}']


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert read(b'data: {"a": 1}') == [{"a": 1}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "an empty stream"),
        (b"<html>sign in</html>", "no event in a stream: '<html>sign in</html>'"),
        (b'{"choices": []}', "no event in a stream"),
        (b"data: {oops}\n\n", "broken JSON in an event: '{oops}'"),
        (b"data: [1]\n\n", "an event that is not an object"),
        (b'data: {"a": 1}\n\ndata: {"cut', "broken JSON"),
    ],
)
def test_what_is_no_event_is_an_error(body: bytes, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        read(body)
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_nothing_after_the_end_counts() -> None:
    assert read(b'data: {"a": 1}\n\ndata: [DONE]\n\ndata: {"b": 2}\n\n', b"data: oops\n\n") == [{"a": 1}]
