"""`newel talk`: lines of a pipe, and WAV files."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WEATHER = str(Path(__file__).parents[3] / "docs" / "examples" / "weather")


def record(path: Path, *, channels: int = 1, rate: int = 16000) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"\0\x40" * (rate // 5) * channels)


def test_a_conversation_through_a_pipe(project: Any) -> None:
    result = project.newel("talk", WEATHER, stdin="my name is Ada\n\nwhat is my name?\nThe weather in Paris?\n")
    assert result.exit_code == 0, result.stderr
    assert 'You said earlier: "my name is Ada"' in result.stdout
    assert "  → get_weather(city=Paris)\n  ← get_weather: {" in result.stdout


def test_a_session_goes_on(project: Any) -> None:
    project.newel("talk", WEATHER, "--session", "s", stdin="my name is Ada\n")
    assert "Ada" in project.newel("chat", WEATHER, "--session", "s", stdin="what is my name?").stdout


def test_streamed_text_is_shown_once(project: Any, scripted: Callable[[str], str]) -> None:
    model = scripted("- chunks: ['one ', 'two']\n- text: three\n")
    project.write("a.yaml", "name: a\n")
    assert project.newel("talk", "a.yaml", "--model", model, stdin="x\ny\n").stdout == "one two\nthree\n"


def test_speech_from_a_file_into_a_file(project: Any, tmp_path: Path) -> None:
    said, heard = tmp_path / "in.wav", tmp_path / "out.wav"
    record(said)
    result = project.newel("talk", WEATHER, "--audio-in", str(said), "--audio-out", str(heard))
    assert result.exit_code == 0, result.stderr
    assert "(heard: (0.2 s of speech))" in result.stdout
    with wave.open(str(heard)) as file:
        assert file.getframerate() == 24000
        assert file.getnframes() > 24000


@pytest.mark.parametrize(("options", "why"), [({"channels": 2}, "one channel"), ({}, "cannot be read as WAV")])
def test_what_is_no_speech_is_refused(project: Any, tmp_path: Path, options: dict[str, int], why: str) -> None:
    path = tmp_path / "in.wav"
    if options:
        record(path, **options)
    else:
        path.write_bytes(b"no wave")
    result = project.newel("talk", WEATHER, "--audio-in", str(path))
    assert result.exit_code != 0
    assert why in result.stderr


def test_a_rate_that_the_model_does_not_take_is_said(project: Any, tmp_path: Path) -> None:
    path = tmp_path / "in.wav"
    record(path, rate=8000)
    result = project.newel("talk", WEATHER, "--audio-in", str(path))
    assert result.exit_code != 0
    assert "16000 Hz" in result.stderr


def test_a_failure_is_one_line(project: Any, scripted: Callable[[str], str]) -> None:
    model = scripted("- raise: 'OSError: away'\n")
    project.write("a.yaml", "name: a\n")
    result = project.newel("talk", "a.yaml", "--model", model, stdin="x\ny\n")
    assert result.exit_code != 0
    assert "away" in result.stderr
    assert "Traceback" not in result.stderr
