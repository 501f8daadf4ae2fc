"""The command line as its users have it: processes that share nothing but files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WEATHER = str(EXAMPLES / "weather")


def test_the_second_process_remembers_the_first(project: Any) -> None:
    first = project.process("run", WEATHER, "my name is Ada", "--session", "s")
    assert (first.returncode, "Traceback" in first.stderr) == (0, False)
    second = project.process("run", WEATHER, "what is my name?", "--session", "s")
    assert second.returncode == 0
    assert "Ada" in second.stdout
    assert (project.path / ".newel" / "sessions.db").is_file()


def test_the_readme_s_command(project: Any) -> None:
    result = project.process("run", WEATHER, "What is the weather in Paris?", "--json")
    assert result.returncode == 0
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert events[1]["content"]["parts"][0]["functionResponse"]["response"]["weather"] == "light rain"


def test_a_wrong_command(project: Any) -> None:
    result = project.process("run", WEATHER, "hi", "--model", "gemni:x")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: unknown model 'gemni:x'; did you mean 'gemini:'?")
    assert result.stderr.count("\n") == 1
    assert project.files() == set()


def test_help_where_a_needed_plugin_is_missing(project: Any) -> None:
    project.write("newel.yaml", "name: mine\nextends: standard\nplugins: [contentz]\n")
    for args, status in ((("--help",), 0), (("plugins",), 2)):
        result = project.process(*args)
        assert result.returncode == status
        assert "did you mean 'contents'?" in (result.stdout + result.stderr).replace("\n ", " ").replace("  ", " ")


def test_a_chat(project: Any) -> None:
    result = project.process("chat", WEATHER, "--session", "s", stdin="my name is Ada\nwhat is my name?\n")
    assert result.returncode == 0
    assert 'You said earlier: "my name is Ada"' in result.stdout
