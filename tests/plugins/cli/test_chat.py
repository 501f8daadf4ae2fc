"""`newel chat`, its lines coming from a pipe and from a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WEATHER = str(EXAMPLES / "weather")


def test_a_conversation_through_a_pipe(project: Any) -> None:
    result = project.newel("chat", WEATHER, stdin="my name is Ada\n\nwhat is my name?\nThe weather in Paris?\n")
    assert result.exit_code == 0
    assert 'You said earlier: "my name is Ada"' in result.stdout
    assert "  → get_weather(city=Paris)\n  ← get_weather: {" in result.stdout
    assert result.stderr.count("note: the offline demo model answers") == 1


def test_a_session_that_run_began(project: Any) -> None:
    project.newel("run", WEATHER, "my name is Ada", "--session", "s")
    assert "Ada" in project.newel("chat", WEATHER, "--session", "s", stdin="what is my name?").stdout


def test_streamed_text_is_shown_once(project: Any, scripted: Callable[[str], str]) -> None:
    model = scripted("- chunks: ['one ', 'two']\n- text: three\n")
    project.write("a.yaml", "name: a\n")
    assert project.newel("chat", "a.yaml", "--model", model, stdin="x\ny\n").stdout == "one two\nthree\n"


def test_a_failed_turn_does_not_end_the_conversation(project: Any, scripted: Callable[[str], str]) -> None:
    steps = "- chunks: [begun]\n  raise: 'OSError: away'\n- error: SAFETY\n  message: blocked\n- text: fine\n"
    model = scripted(steps)
    project.write("a.yaml", "name: a\n")
    result = project.newel("chat", "a.yaml", "--model", model, stdin="x\ny\nz\n")
    assert result.exit_code == 0
    assert result.stdout == "begun\nerror: SAFETY: blocked\nfine\n"
    assert "away" in result.stderr


def test_long_results_are_shortened(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("app/tools.py", 'def long(text: str) -> str:\n    """Be long."""\n    return "y" * 5000\n')
    project.write("app/agent.yaml", "name: a\ntools: [tools.long]\n")
    model = scripted(f"- call: long\n  args: {{text: {'x' * 5000}}}\n- text: done\n")
    lines = project.newel("chat", "app", "--model", model, stdin="go\n").stdout.splitlines()
    assert lines[0].startswith("  → long(text=xxx")
    assert max(map(len, lines)) < 130
    assert lines[-1] == "done"


def test_control_c_stops_the_answer_and_control_d_leaves(
    project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    project.write("app/tools.py", """
        import asyncio

        async def wait() -> str:
            \"\"\"Wait.\"\"\"
            await asyncio.sleep(60)
            return "waited"
    """)  # fmt: skip
    project.write("app/agent.yaml", "name: a\ntools: [tools.wait]\n")
    model = scripted("- call: wait\n- delay: 60\n  text: late\n- text: usable again\n- text: and once more\n")
    terminal = terminal_of("app", "--model", model, "--session", "s")
    for _ in range(2):  # a tool that waits, then a model that does
        terminal.expect("you>")
        terminal.send("go\r")
        terminal.expect("go")
        time.sleep(0.7)
        terminal.interrupt()
        terminal.expect("(stopped)")
    terminal.expect("you>")
    terminal.send("again\r")
    terminal.expect("usable again")
    terminal.expect("you>")
    terminal.send("half a line\x03")
    terminal.expect("you>")
    terminal.send("\x04")
    terminal.expect("--session s")
    assert terminal.close() == 0
    assert "+again" in (project.path / ".newel" / "history").read_text()
    later = project.newel("run", "app", "x", "--session", "s", "--model", scripted("- text: later\n"))
    assert later.stdout == "later\n"


def test_a_terminal_is_not_moved_by_what_a_model_writes(
    project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    project.write("a.yaml", "name: a\n")
    terminal = terminal_of("a.yaml", "--model", scripted('- text: "before\\e]0;owned\\a\\rafter"\n'))
    terminal.expect("you>")
    terminal.send("go\r")
    terminal.expect("before]0;ownedafter")
    terminal.expect("you>")
    terminal.send("\x04")
    terminal.expect("to go on")
    assert terminal.close() == 0
