"""Sound at another rate, and what a blob must be."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.models.wire.sounds import Resampler, rate_of, sound_of, without_sound
from newel_types import Blob, Content, FileData, Part

RATES = (8_000, 16_000, 48_000, 44_100)


def resampled(rate: int, *chunks: bytes) -> array[int]:
    resampler = Resampler(rate, 24_000)
    return array("h", b"".join(resampler.resample(chunk) for chunk in chunks))


@given(rate=st.sampled_from(RATES), samples=st.lists(st.integers(-32768, 32767), max_size=700), data=st.data())
def test_chunks_leave_no_seam(rate: int, samples: list[int], data: st.DataObject) -> None:
    sound = array("h", samples).tobytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(samples)), max_size=6)))
    edges = [0, *cuts, len(samples)]
    chunks = [sound[2 * start : 2 * end] for start, end in pairwise(edges)]
    assert resampled(rate, *chunks) == resampled(rate, sound)


@given(rate=st.sampled_from(RATES), level=st.integers(-32768, 32767))
def test_a_level_stays(rate: int, level: int) -> None:
    assert set(resampled(rate, array("h", [level] * rate).tobytes())) == {level}


@pytest.mark.parametrize("rate", RATES)
def test_a_tone_stays(rate: int) -> None:
    def tone(at: int, samples: int) -> list[float]:
        return [20_000 * math.sin(2 * math.pi * 440 * n / at) for n in range(samples)]

    made = resampled(rate, array("h", map(round, tone(rate, rate))).tobytes())
    assert 24_000 - 100 <= len(made) <= 24_000  # the last block waits
    shift = 0.5 if rate == 48_000 else 0.0  # of two samples, the mean
    wanted = [20_000 * math.sin(2 * math.pi * 440 * (n + shift / 2) / 24_000) for n in range(len(made))]
    assert max(abs(one - other) for one, other in zip(made, wanted, strict=True)) < 300


@pytest.mark.parametrize(
    ("mime", "rate"),
    [
        ("audio/pcm;rate=24000", 24_000),
        ("audio/pcm; rate=8000", 8_000),
        ("audio/pcm", 16_000),
        ("Audio/L16;rate=48000", 48_000),
        ("audio/wav", None),
        ("image/png", None),
        ("", None),
    ],
)
def test_rates(mime: str, rate: int | None) -> None:
    assert rate_of(mime) == rate


def test_what_is_no_sound() -> None:
    with pytest.raises(ValueError, match="'audio/wav'"):
        sound_of(Blob(data=b"RIFF", mime_type="audio/wav"))
    with pytest.raises(ValueError, match=r"half a sample \(3 bytes\)"):
        sound_of(Blob(data=b"abc", mime_type="audio/pcm"))


def test_histories_without_sound() -> None:
    sound = Part(inline_data=Blob(data=b"\0\0", mime_type="audio/pcm"))
    kept = Part(file_data=FileData(file_uri="artifact://a/u/s/_adk_live/x#1", mime_type="audio/pcm"))
    image = Part(inline_data=Blob(data=b"\xff", mime_type="image/png"))
    contents = [Content(role="user", parts=[sound, image]), Content(role="model", parts=[kept]), Content(role="user")]
    assert without_sound(contents) == [Content(role="user", parts=[image])]
    assert contents[0].parts == [sound, image]
