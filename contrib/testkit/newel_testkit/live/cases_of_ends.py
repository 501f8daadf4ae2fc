"""How live connections end, or fail to begin."""

from __future__ import annotations

import asyncio
from functools import partial

from newel.models.live import ConnectionLostError
from newel_testkit.live import gemini_messages
from newel_testkit.live.bench import Bench, Run, sound, text_turn, turn, until_lost, user
from newel_testkit.live.shapes import shapes
from newel_testkit.live.steps import Close, Drop, Pause
from newel_types import SessionResumptionConfig

#: Close codes after which the session may continue over another connection, and codes that refuse it.
LOSSES, REFUSALS = (1000, 1001, 1006, 1011), (1007, 1008)


async def closing(bench: Bench) -> None:
    """`receive` returns, and nothing can be sent any more; closing again does nothing."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("x", "y")[:-3], Pause(60)) as connection:
        await connection.send_content(user("hi"))
        receiving = asyncio.create_task(until_lost(connection))
        await asyncio.sleep(0.05)
        await connection.close()
        await connection.close()
        _, error = await receiving
        assert error is None
        try:
            await connection.send_realtime(sound())
        except ConnectionError:
            return
    raise AssertionError("a closed connection accepted more")


async def a_loss(bench: Bench, code: int) -> None:
    """It is raised with its code, and none of its texts has the key."""
    d = bench.dialect
    end = Drop() if code == 1006 else Close(code, f"own: {d.key}")
    async with bench.connected(d.question(), d.text("half", "way")[:-3], end) as connection:
        await connection.send_content(user("hi"))
        _, error = await until_lost(connection)
        assert isinstance(error, ConnectionLostError), error
        assert error.code == code
        assert d.key not in str(error)
        try:
            await connection.send_content(user("still there?"))
        except ConnectionError:
            return
    raise AssertionError("a lost connection accepted more")


async def a_refusal(bench: Bench, code: int) -> None:
    """It is one error response that names code, provider and connection, and not the key; then the connection ends."""
    d = bench.dialect
    async with bench.connected(d.question(), Close(code, f"own: {d.key}")) as connection:
        await connection.send_content(user("hi"))
        [refused], error = await until_lost(connection)
        assert error is None
        assert refused.error_code == str(code)
        text = str(refused.error_message)
        assert all(words in text for words in (d.name, "connection 1", "own: [api key]")), text
        assert d.key not in text


async def a_wrong_key(bench: Bench) -> None:
    """Connecting fails, and the error does not have the key."""
    bench.server.api_key = "another-key"
    try:
        async with bench.connected() as connection:
            got = await turn(connection)
            text = str(got[0].error_message)
    except Exception as error:  # noqa: BLE001 - whichever the provider raises
        text = str(error)
    assert text
    assert bench.dialect.key not in text


async def a_handshake_that_is_answered_otherwise(bench: Bench) -> None:
    """No redirect is followed; a service that is overloaded may be tried again."""
    for status, retries in ((302, False), (403, False), (503, True)):
        bench.server.answer_handshake(status, {"location": "http://localhost:9/"}, f"no: {bench.dialect.key}")
        failure = await _failure(bench)
        assert isinstance(failure, ConnectionError) is retries, failure
        assert str(status) in str(failure), failure
        assert bench.dialect.key not in str(failure)


async def _failure(bench: Bench) -> Exception:
    """The error of a connection that cannot be opened."""
    try:
        async with bench.connected():
            raise AssertionError("there was a connection")
    except Exception as error:  # noqa: BLE001 - whichever the provider raises
        return error
    finally:
        bench.server.forget_scripts()


async def going_away_with_time_left(bench: Bench) -> None:
    """It is reported with the handle, the turn continues, and the next connection resumes."""
    d = bench.dialect
    away = [gemini_messages.resumption("h-1"), gemini_messages.go_away(5)]
    resumption = SessionResumptionConfig()
    async with bench.connected(d.question(), away, d.text("still"), session_resumption=resumption) as connection:
        await connection.send_content(user("hi"))
        updates = [("live session resumption update", True), ("go away", True)]
        got = await turn(connection)
        assert shapes(got) == [*updates, *text_turn("still")]
        update = got[0].live_session_resumption_update
        assert update is not None
    resumption = SessionResumptionConfig(handle=update.new_handle)
    async with bench.connected(d.text("again"), session_resumption=resumption) as connection:
        assert shapes(await turn(connection)) == text_turn("again")


CASES: dict[str, Run] = {
    run.__name__: run
    for run in (closing, a_wrong_key, a_handshake_that_is_answered_otherwise, going_away_with_time_left)
}
CASES |= {f"a_loss_with_{code}": partial(a_loss, code=code) for code in LOSSES}
CASES |= {f"a_refusal_with_{code}": partial(a_refusal, code=code) for code in REFUSALS}
#: Cases for services whose sessions can be resumed.
RESUMING: frozenset[str] = frozenset({"going_away_with_time_left"})
