"""What goes wrong within a live connection: cuts, stalls, unreadable messages, and floods."""

from __future__ import annotations

import asyncio
import time

from newel.models import BaseLlmConnection
from newel.models.live import ConnectionLostError
from newel_kernel import LlmResponse
from newel_testkit.live.bench import (
    CHUNK_OUT,
    Bench,
    Run,
    results,
    sound,
    text_turn,
    turn,
    until_lost,
    user,
)
from newel_testkit.live.connection import ScriptStep
from newel_testkit.live.dialects import Dialect
from newel_testkit.live.shapes import shapes, without_broken_off
from newel_testkit.live.steps import Drop, Raw, Stall
from newel_types import Content

_MIB = 1 << 20


def long_session(d: Dialect) -> list[ScriptStep]:
    """A session of thirty messages or more: text, a call, its result, sound."""
    pieces = [f"{number} " for number in range(12)]
    talk = [
        *d.question(),
        *d.text(*pieces),
        *d.question(),
        *d.calls(("add", {"a": 1}, "c-1")),
        *d.answered(),
        *d.text("a", "b"),
    ]
    sound = d.sound(*[CHUNK_OUT] * 8, transcript=("that", " is"))
    return [*talk, *d.question(), *sound, *d.question(), *d.text("the", " end")]


#: What the user does, turn by turn.
_MESSAGES: tuple[Content, ...] = (user("count"), user("add"), results(**{"c-1": 1}), user("speak"), user("end"))


async def a_cut_at_each_message(bench: Bench) -> None:
    """What came before the cut is passed on, nothing half is passed on as whole, and the loss is reported.

    Words that were cut end with `…`.
    """
    script = long_session(bench.dialect)
    places = [place for place, step in enumerate(script) if isinstance(step, dict)]
    assert len(places) >= 30
    async with bench.connected(script) as connection:
        whole = []
        for message in _MESSAGES:
            await connection.send_content(message)
            whole += shapes(await turn(connection))
    bench.server.settle()
    assert not bench.server.problems
    for place in places:
        async with bench.connected(script[:place], Drop()) as connection:
            got, error = [], None
            for message in _MESSAGES:
                responses, error = await _until_turn(connection, message)
                got += shapes(responses)
                if error is not None:
                    break
        assert isinstance(error, ConnectionLostError), f"cut before message {place}: {error!r}"
        assert error.code == 1006
        got = without_broken_off(got)
        assert got == whole[: len(got)], f"cut before message {place}: {got[-3:]}"


async def _until_turn(
    connection: BaseLlmConnection, message: Content
) -> tuple[list[LlmResponse], BaseException | None]:
    responses: list[LlmResponse] = []
    try:
        await connection.send_content(message)
        async for response in connection.receive():
            responses.append(response)
    except ConnectionError as error:
        return responses, error
    return responses, None


async def a_stall(bench: Bench) -> None:
    """Leaving takes at most 2 s, also with a full buffer."""
    d = bench.dialect
    async with bench.connected(d.question(), Stall()) as connection:
        await connection.send_content(user("hi"))
        receiving = asyncio.create_task(turn(connection))
        sending = asyncio.create_task(_flood(connection))
        await asyncio.sleep(0.2)
        sending.cancel()
        start = time.monotonic()
    assert time.monotonic() - start < 2
    await asyncio.gather(receiving, sending, return_exceptions=True)


async def _flood(connection: BaseLlmConnection) -> None:
    while True:
        await connection.send_realtime(sound(bytes(_MIB)))


async def messages_that_cannot_be_read(bench: Bench) -> None:
    """Each is one error response, and the session continues."""
    d = bench.dialect
    wrong = [Raw('{"nope'), Raw("[1]"), Raw(b"\xff\xfe"), Raw("5")]
    async with bench.connected(d.question(), wrong, d.text("on")) as connection:
        await connection.send_content(user("hi"))
        got = await turn(connection)
    assert shapes(got) == [("error", "MALFORMED_RESPONSE")] * len(wrong) + text_turn("on")
    assert all(d.name in str(one.error_message) and "connection 1" in str(one.error_message) for one in got[:4])


async def messages_of_unknown_kinds(bench: Bench) -> None:
    """They are reported once; unknown fields are never reported."""
    d = bench.dialect
    messages = [{**message, "novelty": {"x": 1}} for message in d.text("on")]
    async with bench.connected(d.question(), d.unknown(), d.unknown(), messages) as connection:
        await connection.send_content(user("hi"))
        assert shapes(await turn(connection)) == [("error", "UNKNOWN_MESSAGE"), *text_turn("on")]


async def an_error_of_the_service(bench: Bench) -> None:
    """It is one error response, without the key, and the session continues."""
    d = bench.dialect
    async with bench.connected(d.question(), d.error(f"own: {d.key}"), d.text("on")) as connection:
        await connection.send_content(user("hi"))
        got = await turn(connection)
    assert shapes(got) == [("error", "own_error"), *text_turn("on")]
    assert "own: [api key]" in str(got[0].error_message)


async def a_huge_message(bench: Bench) -> None:
    """Up to the limit it is passed on; beyond the limit, one error response names the setting."""
    d = bench.dialect
    large = CHUNK_OUT * 2_500  # 2.4 MB, and 3.2 MB on the wire
    async with bench.connected(d.question(), d.sound(large), modality="AUDIO") as connection:
        await connection.send_content(user("hi"))
        assert shapes(await turn(connection))[0] == ("sound", large)
    options = {"frame_bytes": _MIB}
    async with bench.connected(d.question(), d.sound(large), modality="AUDIO", options=options) as connection:
        await connection.send_content(user("hi"))
        got, error = await until_lost(connection)
    assert error is None
    assert shapes(got) == [("error", "RESPONSE_TOO_LARGE")]
    assert "frame_bytes" in str(got[0].error_message)


async def sound_that_comes_faster_than_it_is_taken(bench: Bench) -> None:
    """Nothing is lost or out of order, and the service waits."""
    d = bench.dialect
    chunks = [number.to_bytes(2, "little") * 4_800 for number in range(1_500)]  # 14 MB, more than sockets hold
    async with bench.connected(d.question(), d.sound(*chunks, transcript=("so",)), modality="AUDIO") as connection:
        await connection.send_content(user("hi"))
        got = []
        async for response in connection.receive():
            got.append(response)
            if len(got) == 20:
                await asyncio.sleep(0.3)
                sent = bench.server.connections[-1].sent
                assert sent < 1_500, "the whole turn was read ahead"
    sounds = [shape[1] for shape in shapes(got) if shape[0] == "sound"]
    assert sounds == chunks


async def cancelling(bench: Bench) -> None:
    """A task that receives can be cancelled, and another one continues from there."""
    d = bench.dialect
    async with bench.connected(d.question(), d.listened(1), d.text("late")) as connection:
        await connection.send_content(user("hi"))
        receiving = asyncio.create_task(turn(connection))
        await asyncio.sleep(0)
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        await connection.send_realtime(sound())
        assert shapes(await turn(connection)) == text_turn("late")


CASES: dict[str, Run] = {
    run.__name__: run
    for run in (
        a_cut_at_each_message,
        a_stall,
        messages_that_cannot_be_read,
        messages_of_unknown_kinds,
        an_error_of_the_service,
        a_huge_message,
        sound_that_comes_faster_than_it_is_taken,
        cancelling,
    )
}
#: Cases for services whose sessions can be resumed.
RESUMING: frozenset[str] = frozenset()
