"""The plugins that tell what happens: to a terminal, and to a file."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from newel.plugins import DebugLoggingPlugin, LoggingPlugin
from newel_types import Blob, Content, Part


def add(a: int) -> int:
    """Add one."""
    if a < 0:
        raise ValueError("negative")
    return a + 1


def steps() -> list[Any]:
    return [{"call": "add", "args": {"a": 1}}, {"call": "add", "args": {"a": -1}}, OSError("gone")]


def test_a_run_is_told_line_by_line(talk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        one = talk(steps(), LoggingPlugin(), tools=[add], distribution="standard")
        with pytest.raises(OSError, match="gone"):
            await one.send("what is 1 + 1?")

    asyncio.run(main())
    printed = capsys.readouterr().out
    for words in (
        "message from ada in desk/s1: 'what is 1 + 1?'",
        "agent clerk starts",
        "clerk calls add({'a': 1})",
        "add returned 2",
        "add failed: ValueError: negative",
        "the model of clerk failed: OSError: gone",
        "failed: OSError: gone",
        "is over",
    ):
        assert words in printed
    assert all(line.startswith("[logging_plugin] ") for line in printed.splitlines())


def test_long_texts_are_cut(talk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(talk(["y" * 5000], LoggingPlugin()).send("x" * 5000))
    assert max(map(len, capsys.readouterr().out.splitlines())) < 500


def test_each_invocation_is_a_document(talk: Any, tmp_path: Path) -> None:
    path = tmp_path / "debug.yaml"

    async def main() -> None:
        one = talk([*steps(), "fine"], DebugLoggingPlugin(output_path=path), tools=[add], distribution="standard")
        data = Part(inline_data=Blob(mime_type="image/png", data=b"secret bytes"))
        with pytest.raises(OSError, match="gone"):
            await one.send(Content(role="user", parts=[Part(text="hello"), data]), state_delta={"k": "v"})
        await one.send("again")

    asyncio.run(main())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret bytes" not in path.read_text()
    first, second = yaml.safe_load_all(path.read_text())
    kinds = [entry["type"] for entry in first["entries"]]
    assert kinds[:3] == ["user_message", "invocation_start", "agent_start"]
    assert {"llm_request", "llm_response", "event", "tool_call", "tool_response", "tool_error", "llm_error"} <= {*kinds}
    assert kinds[-2:] == ["invocation_error", "session_state"]
    assert first["entries"][-1]["state"] == {"k": "v"}
    assert (first["session_id"], second["user_id"]) == ("s1", "ada")
    assert [entry["type"] for entry in second["entries"]].count("agent_end") == 1


def test_state_and_instructions_can_be_left_out(talk: Any, tmp_path: Path) -> None:
    path = tmp_path / "debug.yaml"
    plugin = DebugLoggingPlugin(output_path=path, include_session_state=False, include_system_instruction=False)
    asyncio.run(talk(["fine"], plugin, instruction="hidden words").send())
    assert "hidden words" not in path.read_text()
    assert "session_state" not in path.read_text()
