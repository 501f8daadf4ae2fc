"""What is said over a live connection, in both directions."""

from __future__ import annotations

import asyncio

from newel_testkit.live.bench import (
    CHUNK_OUT,
    Bench,
    Run,
    results,
    sound,
    sound_turn,
    text_turn,
    turn,
    user,
)
from newel_testkit.live.shapes import shapes
from newel_types import ActivityEnd, ActivityStart, Blob, Content, LiveClientRealtimeInput, Part


async def text_comes_in_pieces_and_whole(bench: Bench) -> None:
    """Then the turn is complete."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("Hel", "lo")) as connection:
        await connection.send_content(user("hi"))
        assert shapes(await turn(connection)) == text_turn("Hel", "lo")
    bench.server.settle()
    assert not bench.server.problems


async def turns_follow_each_other(bench: Bench) -> None:
    """`receive` is called again."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("one"), d.question(), d.text("two")) as connection:
        for words in ("one", "two"):
            await connection.send_content(user("next"))
            assert shapes(await turn(connection)) == text_turn(words)


async def a_turn_that_nobody_asked_for(bench: Bench) -> None:
    """The service may speak first."""
    d = bench.dialect
    async with bench.connected(d.text("Hello?")) as connection:
        assert shapes(await turn(connection)) == text_turn("Hello?")


async def sound_and_transcriptions(bench: Bench) -> None:
    """Sound is neither partial nor repeated; transcriptions come in pieces and whole."""
    d = bench.dialect
    script = [*d.listened(3), *d.speech("what", " now"), *d.sound(CHUNK_OUT, CHUNK_OUT, transcript=("no", " idea"))]
    async with bench.connected(script, modality="AUDIO") as connection:
        for _ in range(3):
            await connection.send_realtime(sound())
        transcriptions = [("piece of input transcription", "what"), ("piece of input transcription", " now")]
        expected = [
            *transcriptions,
            ("input transcription", "what now"),
            *sound_turn(CHUNK_OUT, CHUNK_OUT, transcript=("no", " idea")),
        ]
        got = shapes(await turn(connection))
        # Services that give the last piece with the whole give it as a piece, too.
        assert got == expected, got


async def transcriptions_that_nobody_wants(bench: Bench) -> None:
    """The service is not asked for them, and none come."""
    d = bench.dialect
    none = {"input_audio_transcription": None, "output_audio_transcription": None}
    async with bench.connected(d.question(), d.sound(CHUNK_OUT), modality="AUDIO", **none) as connection:
        await connection.send_content(user("hi"))
        assert shapes(await turn(connection)) == [
            ("sound", CHUNK_OUT),
            ("usage metadata", True),
            ("turn complete", True),
        ]


async def calls_and_their_results(bench: Bench) -> None:
    """Calls of a turn are one response; their results are answered with the next turn."""
    d = bench.dialect
    requests = (("add", {"a": 1}, "c-1"), ("add", {"a": 2}, "c-2"))
    async with bench.connected(d.question(), d.calls(*requests), d.answered(), d.text("3")) as connection:
        await connection.send_content(user("1 and 2?"))
        first = await turn(connection)
        calls = [("add", {"a": 1}), ("add", {"a": 2})]
        assert shapes(first) == [("usage metadata", True), ("calls", calls), ("turn complete", True)]
        ids = [
            call.id for one in first if one.content for part in one.content.parts or () if (call := part.function_call)
        ]
        assert ids == ["c-1", "c-2"]
        await connection.send_content(results(**{"c-1": 1, "c-2": 2}))
        assert shapes(await turn(connection)) == text_turn("3")
    bench.server.settle()
    assert not bench.server.problems


async def results_that_come_one_by_one(bench: Bench) -> None:
    """Results of tools that do not block come when they are ready."""
    d = bench.dialect
    requests = (("add", {"a": 1}, "c-1"), ("add", {"a": 2}, "c-2"))
    script = [*d.question(), *d.calls(*requests), *d.answered(), *d.text("one"), *d.answered(), *d.text("two")]
    async with bench.connected(script) as connection:
        await connection.send_content(user("1 and 2?"))
        await turn(connection)
        for id_, words in (("c-2", "one"), ("c-1", "two")):
            await connection.send_content(results(**{id_: 1}))
            assert shapes(await turn(connection)) == text_turn(words)


async def an_interruption(bench: Bench) -> None:
    """What was said so far is whole, or up to where it was heard; then it is interrupted, and the turn is complete."""
    d = bench.dialect
    script = [*d.question(), *d.interruption(CHUNK_OUT * 50, transcript="Well"), *d.question(), *d.text("Yes?")]
    async with bench.connected(script, modality="AUDIO") as connection:
        await connection.send_content(user("hi"))
        got = [shape for shape in shapes(await turn(connection)) if shape[0] != "usage metadata"]
        heard = next(str(text) for what, text in got if what == "output transcription")
        assert heard == "Well" or (heard.endswith("…") and "Well".startswith(heard[:-1])), heard
        assert got == [
            ("sound", CHUNK_OUT * 50),
            ("piece of output transcription", "Well"),
            ("output transcription", heard),
            ("interrupted", True),
            ("turn complete", True),
        ], got
        await connection.send_content(user("stop"))
        assert shapes(await turn(connection)) == text_turn("Yes?")


async def history_that_ends_with_the_user_is_answered(bench: Bench) -> None:
    """Sound is left out of it; calls and results are kept."""
    d = bench.dialect
    history = [
        Content(role="user", parts=[Part(text="one"), Part(inline_data=sound())]),
        Content(role="model", parts=[Part.from_function_call(name="add", args={"a": 1})]),
        Content(role="user", parts=[Part.from_function_response(name="add", response={"sum": 1})]),
        Content(role="model", parts=[Part(text="two")]),
        user("three"),
    ]
    async with bench.connected(d.question(), d.text("four")) as connection:
        await connection.send_history(history)
        assert shapes(await turn(connection)) == text_turn("four")


async def history_that_ends_with_the_model_waits(bench: Bench) -> None:
    """The next thing that the user says is answered."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("three")) as connection:
        await connection.send_history([user("one"), Content(role="model", parts=[Part(text="two")])])
        await connection.send_content(user("and?"))
        assert shapes(await turn(connection)) == text_turn("three")


async def parts_of_a_turn(bench: Bench) -> None:
    """Only the last one is answered."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("both")) as connection:
        await connection.send_partial(user("this"))
        await connection.send_content(user("and that"))
        assert shapes(await turn(connection)) == text_turn("both")


async def images_and_the_end_of_a_stream(bench: Bench) -> None:
    """The service takes them."""
    d = bench.dialect
    async with bench.connected(d.listened(1), d.text("a cat")) as connection:
        await connection.send_realtime(Blob(data=b"\xff\xd8\xff", mime_type="image/jpeg"))
        await connection.send_realtime(sound())
        await connection.send_realtime(LiveClientRealtimeInput(audio_stream_end=True))
        assert shapes(await turn(connection)) == text_turn("a cat")


async def activity_that_the_client_marks(bench: Bench) -> None:
    """The service accepts the marks if it was told to expect them."""
    d = bench.dialect
    manual = {"automatic_activity_detection": {"disabled": True}}
    async with bench.connected(d.listened(5), d.text("yes"), realtime_input_config=manual) as connection:
        await connection.send_realtime(ActivityStart())
        for _ in range(8):
            await connection.send_realtime(sound())
        await connection.send_realtime(ActivityEnd())
        assert shapes(await turn(connection)) == text_turn("yes")


async def what_cannot_be_sent_is_a_value_error(bench: Bench) -> None:
    """None of it is sent, and the session continues."""
    d = bench.dialect
    async with bench.connected(d.question(), d.text("on")) as connection:
        for wrong in (Content(role="user", parts=[Part(inline_data=sound())]), Content(role="user", parts=[])):
            try:
                await connection.send_content(wrong)
            except ValueError:
                continue
            raise AssertionError(f"{wrong} was sent")
        await connection.send_content(user("go"))
        assert shapes(await turn(connection)) == text_turn("on")


async def sending_while_receiving(bench: Bench) -> None:
    """One task sends, another one receives."""
    d = bench.dialect
    script = [*d.listened(100), *d.sound(*[CHUNK_OUT] * 100, transcript=("so",))]
    async with bench.connected(script, modality="AUDIO") as connection:
        receiving = asyncio.create_task(turn(connection))
        for _ in range(200):
            await connection.send_realtime(sound())
        assert shapes(await receiving) == sound_turn(*[CHUNK_OUT] * 100, transcript=("so",))


CASES: dict[str, Run] = {
    run.__name__: run
    for run in (
        text_comes_in_pieces_and_whole,
        turns_follow_each_other,
        a_turn_that_nobody_asked_for,
        sound_and_transcriptions,
        transcriptions_that_nobody_wants,
        calls_and_their_results,
        results_that_come_one_by_one,
        an_interruption,
        history_that_ends_with_the_user_is_answered,
        history_that_ends_with_the_model_waits,
        parts_of_a_turn,
        images_and_the_end_of_a_stream,
        activity_that_the_client_marks,
        what_cannot_be_sent_is_a_value_error,
        sending_while_receiving,
    )
}
#: Cases for services whose sessions can be resumed.
RESUMING: frozenset[str] = frozenset()
