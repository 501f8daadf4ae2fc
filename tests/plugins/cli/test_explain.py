"""`newel explain`: each step of a request, on a terminal and as JSON, with nothing stored and no model asked."""

from __future__ import annotations

import json
from typing import Any

from newel.explanation import Change, applied

AGENT = """
    from newel import Agent

    def weather(city: str) -> str:
        "The weather of a city."
        raise SystemExit("a tool ran")

    def shout(callback_context, llm_request):
        print("a callback prints")
        llm_request.append_instructions(["Shout."])

    root_agent = Agent(name="helper", model="openai:none", instruction="Help.", tools=[weather])
    shouting = Agent(name="shouting", instruction="Help.", before_model_callback=shout)
    failing = Agent(name="failing", instruction=lambda ctx: 1 / 0)
"""


def edits(step: Any) -> list[Change]:
    return [Change(e["op"], e["path"], e.get("before"), e.get("value")) for e in step["changes"]]


def test_the_steps_and_what_goes_to_the_model(project: Any) -> None:
    project.write("own.py", AGENT)
    result = project.newel("explain", "own:root_agent", "to Rome", "--model", "demo:")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("the request of helper, ")
    assert '      + /contents/0: {"parts": [{"text": "to Rome"}], "role": "user"}' in lines
    contents = next(line for line in lines if " contents " in line)
    assert "(newel 0.1.0)" in contents
    assert contents.endswith(" ms")
    assert any("tools of helper  (the agent)" in line for line in lines)
    assert "this goes to the model:" in lines
    assert project.files() == {"own.py"}


def test_as_json(project: Any) -> None:
    project.write("own.py", AGENT)
    result = project.newel("explain", "own:shouting", "hi", "--json", "--model", "echo:")
    assert result.stderr == "a callback prints\n"
    (one,) = json.loads(result.stdout)
    assert one["called"] is True
    assert applied(one["before"], [edit for step in one["steps"] for edit in edits(step)]) == one["after"]
    assert one["after"]["system_instruction"].endswith("Shout.")
    assert one["steps"][-1]["kind"] == "callback"


def test_the_next_turn_of_a_session_that_stays_as_it_is(project: Any) -> None:
    project.write("own.py", AGENT)
    agent = ("own:root_agent", "--model", "echo:")
    project.newel("run", *agent, "my name is Ann", "--session", "first")
    before = project.newel("sessions", "show", "own:root_agent", "first").stdout
    for options in (["--session", "first"], ["--continue"]):
        (one,) = json.loads(project.newel("explain", *agent, "who am I?", "--json", *options).stdout)
        texts = [content["parts"][0]["text"] for content in one["after"]["contents"]]
        assert (texts[0], len(texts), texts[2]) == ("my name is Ann", 3, "who am I?")
        assert one["session_id"] == "first"
    assert project.newel("sessions", "show", "own:root_agent", "first").stdout == before


def test_what_is_wrong_is_one_line(project: Any) -> None:
    project.write("own.py", AGENT)
    missing = project.newel("explain", "own:shouting", "hi", "--model", "echo:", "--session", "second")
    assert missing.exit_code == 2
    assert missing.stderr.startswith("Error: the app 'shouting' has no session 'second'")
    assert "give either" in project.refused("explain", "own:shouting", "hi", "--continue", "--session", "x")
    assert "is empty" in project.refused("explain", "own:shouting", " ")


def test_a_turn_that_fails_before_its_model_call(project: Any) -> None:
    project.write("own.py", AGENT)
    result = project.newel("explain", "own:failing", "hi", "--model", "echo:")
    assert result.exit_code == 1
    assert "instructions  (newel 0.1.0)" in result.stdout
    assert " raised ZeroDivisionError" in result.stdout
    assert result.stderr.startswith("Error: the turn failed: ")
    assert "it did not come to a model call" in result.stdout
