"""What servers offer in addition to texts: resources, prompts, pictures; and toolsets in agent files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.mcp.conftest import SERVERS
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop

from newel.agents import LlmAgent, McpInstructionProvider
from newel.files import load_agent
from newel.mcp import McpToolset, StdioConnectionParams
from newel.models.scripted import ScriptedModel
from newel.runners import InMemoryRunner
from newel.tools.load_mcp_resource_tool import LoadMcpResourceTool
from newel_types import Content, Part

GOOD: Any = {"command": sys.executable, "args": [str(SERVERS / "good.py")]}


def texts(request: Any) -> str:
    return "\n".join(part.text or "" for content in request.contents for part in content.parts or ())


@in_a_loop
async def test_the_model_loads_resources_by_name(stdio: Make) -> None:
    toolset = stdio("good", use_mcp_resources=True)
    talk = Talk([toolset], call("load_mcp_resource", resource_names=["note", "blob", "nothing"]))
    await talk.say()
    assert await toolset.list_resources() == ["note", "blob"]
    assert (await toolset.get_resource_info("note"))["uri"] == "note://1"
    await toolset.close()
    assert "load_mcp_resource" in talk.declared()
    assert "note" in str(talk.model.requests[0].config.system_instruction)
    assert "a note" in texts(talk.model.requests[1])
    assert "has no resource 'nothing'" in texts(talk.model.requests[1])
    shown = [part.inline_data for content in talk.model.requests[1].contents for part in content.parts or ()]
    assert [blob.mime_type for blob in shown if blob] == ["image/png"]
    stored = json.dumps([event.model_dump(mode="json") for event in talk.session.events])
    assert "a note" not in stored


@in_a_loop
async def test_the_tool_of_resources_may_stand_alone(stdio: Make) -> None:
    toolset = stdio("good")
    talk = Talk([LoadMcpResourceTool(toolset)], call("load_mcp_resource", resource_names=["note"]))
    await talk.say()
    await toolset.close()
    assert set(talk.declared()) == {"load_mcp_resource"}
    assert "a note" in texts(talk.model.requests[1])


@in_a_loop
async def test_a_picture_is_shown_with_the_next_request_alone(stdio: Make) -> None:
    toolset = stdio("good")
    talk = Talk([toolset], call("picture"), call("echo", text="x"))
    await talk.say()
    await toolset.close()

    def pictures(request: Any) -> int:
        return sum(part.inline_data is not None for content in request.contents for part in content.parts or ())

    assert [pictures(request) for request in talk.model.requests] == [0, 1, 0]


@in_a_loop
async def test_a_prompt_is_an_instruction(tidy: None) -> None:
    params = StdioConnectionParams(server_params=GOOD, timeout=10)  # type: ignore[arg-type]
    provider = McpInstructionProvider(params, "review")
    model = ScriptedModel(["end"])
    runner = InMemoryRunner(agent=LlmAgent(name="root", model=model, instruction=provider), app_name="app")
    state = {"code": "x = 1", "style": "long"}
    session = await runner.session_service.create_session(app_name="app", user_id="ada", state=state)
    message = Content(role="user", parts=[Part(text="go")])
    async for _ in runner.run_async(user_id="ada", session_id=session.id, new_message=message):
        pass
    assert "Review (long): x = 1" in str(model.requests[0].config.system_instruction)
    with pytest.raises(Exception, match=r"no prompt 'reviev'; did you mean 'review'"):
        await McpInstructionProvider(params, "reviev")(_context(runner, session))
    await provider.close()


def _context(runner: Any, session: Any) -> Any:
    from newel.contexts.readonly_context import ReadonlyContext

    class Invocation:
        composition = runner.composition
        session: Any = None

    Invocation.session = session
    return ReadonlyContext(Invocation())  # type: ignore[arg-type]


FILE = """\
name: root
model: script
tools:
  - name: McpToolset
    args:
      - {{name: {field}, value: {value}}}
      - {{name: tool_filter, value: [echo]}}
"""


def load(folder: Path, field: str, value: Any) -> Any:
    file = folder / "root_agent.yaml"
    file.write_text(FILE.format(field=field, value=json.dumps(value)))
    return load_agent(str(file))


def test_an_agent_file_names_a_server_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = {"notes": {"stdio_server_params": GOOD, "trusted": True}}
    (tmp_path / "newel.yaml").write_text(
        f"name: mine\nextends: standard\nsettings:\n  mcp:\n    servers: {json.dumps(servers)}\n"
    )
    monkeypatch.setenv("NEWEL_DISTRIBUTION", str(tmp_path / "newel.yaml"))
    toolset = load(tmp_path, "server", "notes").tools[0]
    assert toolset.connection_params.server_params.args == GOOD["args"]
    assert toolset.trusted
    with pytest.raises(Exception, match=r"no MCP server 'note'; did you mean 'notes'"):
        load(tmp_path, "server", "note")


def test_an_agent_file_starts_only_commands_that_the_operator_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Exception, match="may not start the command"):
        load(tmp_path, "stdio_server_params", GOOD)
    monkeypatch.setenv("NEWEL_MCP_STDIO_SERVERS", f"other, {GOOD['command']} {GOOD['args'][0]}")
    assert load(tmp_path, "stdio_server_params", GOOD).tools[0].tool_filter == ["echo"]
    url = {"url": "https://example.com/mcp"}
    assert load(tmp_path, "streamable_http_connection_params", url).tools[0].connection_params.url == url["url"]


def test_a_key_in_an_agent_file_has_its_own_scheme() -> None:
    from newel.mcp.toolset_config import parsed
    from newel_types import APIKey

    scheme = {"type": "apiKey", "in": "header", "name": "x-key"}
    params = {"url": "https://example.com/mcp"}
    made = parsed({"streamable_http_connection_params": params, "auth_scheme": scheme}, "a file")
    config = McpToolset(**made.arguments()).get_auth_config()
    assert config is not None
    assert isinstance(config.auth_scheme, APIKey)


def test_a_function_becomes_a_tool_of_the_sdk() -> None:
    from newel.tools import FunctionTool
    from newel.tools.mcp_tool import adk_to_mcp_tool_type

    def add(first: int, second: int = 1) -> int:
        """Add."""
        return first + second

    made = adk_to_mcp_tool_type(FunctionTool(add))
    assert (made.name, made.description) == ("add", "Add.")
    assert made.input_schema["required"] == ["first"]
    assert made.input_schema["properties"]["second"]["type"] == "integer"
