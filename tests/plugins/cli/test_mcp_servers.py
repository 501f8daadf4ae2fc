"""`newel mcp list|inspect|pin|call`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.cli.conftest import Project

from newel.cli.mcp.inputs import answered
from newel.mcp.questions import Asked, McpAsksError

NOTES = f"{sys.executable} -m newel_testkit.notes"
ASKS = f"{sys.executable} {Path(__file__).parents[1] / 'mcp' / 'servers' / 'raw.py'} asks"


def distribution(folder: Path, **more: Any) -> None:
    server = {"stdio_connection_params": {"server_params": {"command": sys.executable, "args": NOTES.split()[1:]}}}
    server["stdio_connection_params"]["timeout"] = 30  # type: ignore[assignment]
    servers = json.dumps({"notes": {**server, **more}})
    (folder / "newel.yaml").write_text(f"name: office\nextends: standard\nsettings: {{mcp: {{servers: {servers}}}}}\n")


def test_the_servers_of_the_settings_are_listed_and_looked_at(project: Project) -> None:
    distribution(project.path)
    listed = json.loads(project.newel("mcp", "list").stdout)
    assert [one["name"] for one in listed] == ["notes"]
    found = json.loads(project.newel("mcp", "inspect", "notes").stdout)
    assert [one["name"] for one in found["tools"]] == ["add_note", "read_notes"]
    assert found["resources"] == ["first"]
    assert found["prompts"] == ["tidy"]
    pins = json.loads(project.newel("mcp", "pin", "notes").stdout)["pins"]
    assert pins == {one["name"]: one["digest"] for one in found["tools"]}


def test_a_tool_is_called_by_a_command_line(project: Project) -> None:
    result = project.newel("mcp", "call", NOTES, "add_note", '{"text": "tea"}')
    assert json.loads(result.stdout)["structuredContent"] == {"result": 1}
    assert project.newel("mcp", "call", NOTES, "add_note", "{}").exit_code == 1


def test_what_is_wrong_is_said(project: Project) -> None:
    distribution(project.path)
    for words, arguments in {
        "no MCP server 'note'; did you mean 'notes'": ("inspect", "note"),
        "the arguments are not JSON": ("call", "notes", "add_note", "{"),
        "must be a JSON object": ("call", "notes", "add_note", "[]"),
        "has no tool 'ad_note'; did you mean 'add_note'": ("call", "notes", "ad_note"),
        "no variable 'NO_SUCH_TOKEN'": ("inspect", "http://127.0.0.1:9/mcp", "--token-from", "NO_SUCH_TOKEN"),
        "for a server at a URL": ("inspect", "notes", "--token-from", "PATH"),
        "the server asks: Which size?": ("call", ASKS, "echo", '{"text": "tea"}'),
        "cannot be reached": ("inspect", "/no/such/command"),
    }.items():
        result = project.process("mcp", *arguments)
        assert result.returncode != 0
        assert words in result.stderr
        assert "Traceback" not in result.stderr


def asked(properties: dict[str, Any], required: list[str]) -> McpAsksError:
    schema = {"type": "object", "properties": properties, "required": required}
    request = {"method": "elicitation/create", "params": {"message": "Well?", "requestedSchema": schema}}
    page = {"method": "elicitation/create", "params": {"mode": "url", "message": "Pay.", "url": "https://pay.example/"}}
    return McpAsksError("asks", Asked({"q": request, "p": page}, state="s"))


def test_what_a_server_asks_is_asked_at_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "size": {"type": "string", "enum": ["small", "large"]},
        "count": {"type": "integer"},
        "note": {"type": "string"},
        "gift": {"type": "boolean", "default": False},
    }
    typed = iter(["huge", "large", "many", "3", "", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(typed))
    monkeypatch.setattr("click.confirm", lambda text, **_: "pay.example" in text)
    found = answered(asked(fields, ["size"]), "server")
    assert found.state == "s"
    assert found.responses == {
        "q": {"action": "accept", "content": {"size": "large", "count": 3, "gift": False}},
        "p": {"action": "accept"},
    }
    typed = iter([""])
    assert answered(asked({"size": {"type": "string"}}, ["size"]), "server").responses["q"] == {"action": "decline"}
