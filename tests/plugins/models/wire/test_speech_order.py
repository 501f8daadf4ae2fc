"""An answer stands behind what it answers, in whatever order the service says the two; nothing is lost or doubled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from newel.models.wire.speech_order import PATIENCE, PIECE_PATIENCE, SpeechOrder
from newel_kernel import LlmResponse
from newel_types import Blob, Content, FunctionCall, Part, Transcription

SOUND = LlmResponse(Content(role="model", parts=[Part(inline_data=Blob(data=b"1", mime_type="audio/pcm"))]))


def heard(turn: int) -> LlmResponse:
    return LlmResponse(input_transcription=Transcription(text=f"question {turn}", finished=True))


def answer(turn: int, with_call: bool) -> list[LlmResponse]:
    piece = LlmResponse(partial=True, output_transcription=Transcription(text="piece", finished=False))
    whole = LlmResponse(output_transcription=Transcription(text=f"answer {turn}", finished=True))
    call = LlmResponse(Content(role="model", parts=[Part(function_call=FunctionCall(id=str(turn), name="f", args={}))]))
    return [piece, SOUND, whole, *([call] if with_call else []), LlmResponse(turn_complete=True)]


class Played:
    """A conversation as it is passed on."""

    def __init__(self, *, transcribed: bool = True) -> None:
        self.now = 0.0
        self.order = SpeechOrder(lambda: self.now, transcribed=transcribed)
        self.passed: list[LlmResponse] = []

    def say(self, *responses: LlmResponse) -> None:
        for response in responses:
            self.passed += self.order.ordered([response])

    def transcribe(self, turn: int, item: str | None = None) -> None:
        self.order.transcribed(item or f"u{turn}")
        self.say(heard(turn))

    def begin(self, turn: int) -> None:
        self.order.spoke(f"u{turn}")
        self.order.begun()


def places(passed: list[LlmResponse]) -> list[str]:
    return [
        (one.input_transcription or one.output_transcription).text or ""  # type: ignore[union-attr]
        for one in passed
        if not one.partial and (one.input_transcription or one.output_transcription)
    ]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), min_size=1, max_size=5),
)
def test_each_question_stands_before_its_answer(turns: list[tuple[int, bool, bool]]) -> None:
    played, sent = Played(), 0
    for turn, (when, with_call, other_name) in enumerate(turns):
        played.begin(turn)
        responses = answer(turn, with_call)
        for number, response in enumerate(responses):
            if number == when:
                played.transcribe(turn, "another" if other_name else None)
            played.say(response)
        if when >= len(responses):
            played.transcribe(turn, "another" if other_name else None)
        sent += len(responses) + 1
    expected = [f"{what} {turn}" for turn in range(len(turns)) for what in ("question", "answer")]
    assert places(played.passed) == expected
    assert len(played.passed) == sent
    assert played.passed[-1].turn_complete or played.passed[-1].input_transcription is None


def test_what_waited_goes_before_what_came_in_one_message_with_the_words() -> None:
    played = Played()
    played.begin(0)
    played.say(*answer(0, False)[:-1])
    played.order.transcribed("u0")
    played.passed += played.order.ordered([heard(0), LlmResponse(turn_complete=True)])
    assert places(played.passed) == ["question 0", "answer 0"]
    assert played.passed[-1].turn_complete


def test_each_piece_of_the_words_is_waited_for_a_little_longer() -> None:
    played = Played()
    played.begin(0)
    played.order.goes_on()
    played.say(*answer(0, False))
    assert played.order.patience == PATIENCE
    played.order.goes_on()
    assert played.order.patience == PIECE_PATIENCE


def test_sound_and_pieces_do_not_wait() -> None:
    played = Played()
    played.begin(0)
    played.say(*answer(0, True))
    assert [one is SOUND or bool(one.partial) for one in played.passed] == [True, True]
    assert played.order.patience == PATIENCE
    played.transcribe(0)
    assert [bool(one.turn_complete) for one in played.passed] == [False] * 5 + [True]


def test_what_does_not_come_is_not_waited_for_twice() -> None:
    played = Played()
    played.begin(0)
    played.say(*answer(0, False))
    played.now = PATIENCE + 1
    assert played.order.patience == 0
    played.passed += played.order.give_up()
    assert played.passed[-1].turn_complete
    played.begin(1)
    played.say(*answer(1, False))
    assert played.passed[-1].turn_complete
    assert played.order.patience is None
    played.transcribe(0)  # it comes after all, and so the next are waited for
    played.begin(2)
    played.say(*answer(2, False))
    assert not played.passed[-1].turn_complete
    played.transcribe(2)
    assert places(played.passed)[-2:] == ["question 2", "answer 2"]


def test_an_interruption_does_not_wait() -> None:
    played = Played()
    played.begin(0)
    played.say(*answer(0, False)[:3], LlmResponse(interrupted=True))
    assert played.passed[-1].interrupted
    assert places(played.passed) == ["answer 0"]


def test_without_transcription_nothing_waits() -> None:
    played = Played(transcribed=False)
    played.begin(0)
    played.say(*answer(0, True))
    assert len(played.passed) == 5
