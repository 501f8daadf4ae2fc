"""`newel chat`, its lines coming from a pipe and from a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture
def waiting_agent(project: Any) -> str:
    """An agent whose tool waits for the file `go-on`."""
    project.write(
        "app/tools.py",
        """
        import asyncio
        from pathlib import Path

        async def wait() -> str:
            \"\"\"Wait.\"\"\"
            while not Path("go-on").exists():
                await asyncio.sleep(0.01)
            return "waited"
    """,
    )
    project.write("app/agent.yaml", "name: a\ntools: [tools.wait]\n")
    return "app"


def test_control_c_stops_the_answer_and_control_d_leaves(
    waiting_agent: str, project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    model = scripted("- call: wait\n- chunks: [thinking]\n  hang: true\n- text: usable again\n- text: and once more\n")
    terminal = terminal_of(waiting_agent, "--model", model, "--session", "s")
    for running in ("→ wait()", "thinking"):  # a tool that waits, then a model that does
        terminal.prompted("you>")
        terminal.send("go\r")
        terminal.expect(running)
        terminal.interrupt()
        terminal.expect("(stopped)")
    terminal.prompted("you>")
    terminal.send("again\r")
    terminal.expect("usable again")
    terminal.prompted("you>")
    terminal.send("half a line\x03")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("--session s")
    assert terminal.close() == 0
    assert "+again" in (project.path / ".newel" / "history").read_text()
    later = project.newel("run", waiting_agent, "x", "--session", "s", "--model", scripted("- text: later\n"))
    assert later.stdout == "later\n"


@pytest.mark.parametrize("ahead", ["\x04", "next", "next\r\x04"], ids=["control-d", "half a line", "a line and more"])
def test_keys_typed_during_an_answer_wait_for_the_prompt_but_a_line_steers(
    ahead: str, waiting_agent: str, project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    terminal = terminal_of(waiting_agent, "--model", scripted("- call: wait\n- text: answer\n- text: another\n"))
    terminal.prompted("you>")
    terminal.send("go\r")
    terminal.expect("→ wait()")
    terminal.send(ahead)
    if "\r" in ahead:
        terminal.expect("told before its next step")
    project.write("go-on", "")
    terminal.expect("answer")
    if ahead == "next":
        terminal.prompted("you>")
        terminal.send("\r\x04")
        terminal.expect("another")
    terminal.expect("to continue")
    assert terminal.close() == 0
    assert ("another" in terminal.seen) == (ahead == "next")


INTERRUPTED_STORE = """
    import os, signal

    from newel import Agent, App
    from newel.sessions import InMemorySessionService


    class Store(InMemorySessionService):
        async def get_session(self, **names):
            os.kill(os.getpid(), signal.SIGINT)
            return await super().get_session(**names)


    app = App(name="app", root_agent=Agent(name="a"), session_service=Store())
"""


def test_control_c_between_a_prompt_and_a_turn_ends_nothing(
    project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    project.write("interrupted.py", INTERRUPTED_STORE)
    terminal = terminal_of("interrupted:app", "--model", scripted("- text: answer\n"))
    for before_the_first_turn in (True, False):
        terminal.prompted("you>")
        terminal.send("\r")  # asks the store for what is open
        terminal.prompted("you>")
        if before_the_first_turn:
            terminal.send("go\r")
            terminal.expect("answer")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0


def test_a_terminal_is_not_moved_by_what_a_model_writes(
    project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    project.write("a.yaml", "name: a\n")
    terminal = terminal_of("a.yaml", "--model", scripted('- text: "before\\e]0;owned\\a\\rafter"\n'))
    terminal.prompted("you>")
    terminal.send("go\r")
    terminal.expect("before]0;ownedafter")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0


def test_commands_of_the_chat(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("a.yaml", "name: a\ndescription: Helps.\n")
    lines = "/help\nhi\n/agents\n/model\n/save out.json\n/model echo:\n/state\nagain\n/modle\n/model gemni:x\n"
    lines += " /quit\n/quit\nno\n"
    result = project.newel("chat", "a.yaml", "--model", scripted("- text: hello\n"), stdin=lines)
    assert result.exit_code == 0
    for shown in ("/save", "hello\n", "a (LlmAgent): Helps.", "a: script:", "a: echo:", "{}", "saved in out.json"):
        assert shown in result.stdout
    assert "there is no command /modle; did you mean 'model'?" in result.stderr
    assert "unknown model 'gemni:x'; did you mean 'gemini:'?" in result.stderr
    saved = json.loads((project.path / "out.json").read_text())
    assert [event["author"] for event in saved["events"]] == ["user", "a"]
    assert "/quit" in result.stdout  # sent to the agent, for a space stood before it
    assert "no\n" not in result.stdout.rpartition("/quit")[2]


def test_what_waits_for_approval_is_no_error(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("app/tools.py", 'def pay() -> str:\n    """Pay."""\n    return "paid"\n')
    project.write("app/agent.yaml", "name: a\ntools: [{tool: tools.pay, require_confirmation: true}]\n")
    result = project.newel("chat", "app", "--model", scripted("- call: pay\n"), stdin="go\n")
    assert "  → pay()\n  ← pay: waits for your approval\n" in result.stdout
    assert "error" not in result.stdout


def test_a_terminal_has_a_header_lines_of_its_own_and_the_last_exchanges(
    project: Any, scripted: Callable[[str], str], terminal_of: Any
) -> None:
    project.write("a.yaml", "name: a\n")
    model = scripted("- text: first answer\n- text: second answer\n")
    for message in ("one", "two"):
        project.newel("run", "a.yaml", message, "--session", "s", "--model", "echo:")
    terminal = terminal_of("a.yaml", "--model", model, "--session", "s")
    terminal.expect("a - session s")
    terminal.expect("you> one")
    terminal.expect("you> two")
    terminal.prompted("you>")
    terminal.send("\x1a")  # Ctrl-Z: nothing can stop what has no shell above it, and it is no part of the message
    terminal.prompted("you>")
    terminal.send("upper\x1b\rlower\r")
    terminal.expect("first answer")
    terminal.prompted("you>")
    terminal.send("/quit\r")
    terminal.expect("to continue: --session s")
    assert terminal.close() == 0
    events = json.loads(project.newel("sessions", "export", "a.yaml", "s").stdout)["events"]
    assert events[4]["content"]["parts"][0]["text"] == "upper\nlower"


def test_a_line_that_is_typed_while_the_agent_works_steers_it(project: Any, terminal_of: Any) -> None:
    project.write(
        "a.py",
        """
        import time
        from newel import Agent
        from newel.testing import ScriptedModel
        from newel.types import FunctionCall

        def dig() -> str:
            time.sleep(1.5)
            return "deep"

        model = ScriptedModel([FunctionCall(name="dig", args={}), "ready"])
        root_agent = Agent(name="a", model=model, tools=[dig])
        """,
    )
    terminal = terminal_of("a:root_agent", "--session", "s")
    terminal.prompted("you>")
    terminal.send("go\r")
    terminal.expect("dig")
    terminal.send("only the garden\r")
    terminal.expect("told before its next step")
    terminal.expect("ready")
    terminal.prompted("you>")
    terminal.send("\x04")
    terminal.expect("to continue")
    assert terminal.close() == 0
    events = json.loads(project.newel("sessions", "export", "a:root_agent", "s").stdout)["events"]
    texts = [part["text"] for e in events for part in (e.get("content") or {}).get("parts", ()) if "text" in part]
    assert texts == ["go", "only the garden", "ready"]
