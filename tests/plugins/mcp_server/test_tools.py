"""The agent's tools one by one."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from newel import Agent, Context, Runner, tool
from newel.agents import SequentialAgent
from newel.mcp_server import to_mcp_server
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool, google_search
from newel_kernel import ConfigurationError
from newel_types import Blob, Part


def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@tool(effect="pure")
def total(values: list[int]) -> dict[str, int]:
    """Add."""
    return {"sum": sum(values)}


def boom() -> str:
    """Fail."""
    raise RuntimeError("password hunter2")


def _clerk(*tools: Any, **fields: Any) -> Agent:
    return Agent(name="clerk", model=ScriptedModel([]), instruction="Sell.", tools=list(tools), **fields)


def test_each_is_listed_and_called(bench: Any) -> None:
    async def use(client: Client) -> Any:
        listed = (await client.list_tools()).tools
        return (
            listed,
            await client.call_tool("echo", {"text": "ab", "times": 2}),
            await client.call_tool("total", {"values": [1, 2]}),
        )

    listed, echoed, added = bench.use(to_mcp_server(_clerk(echo, total), tools="all"), use)
    assert [(one.name, one.description) for one in listed] == [("echo", "Say it again."), ("total", "Add.")]
    assert listed[0].input_schema["required"] == ["text"]
    assert [one.annotations is not None and one.annotations.read_only_hint for one in listed] == [False, True]
    assert (echoed.content[0].text, echoed.structured_content) == ("abab", {"result": "abab"})
    assert (added.structured_content, added.is_error) == ({"sum": 3}, False)


def test_only_the_named_ones(bench: Any, call: Any) -> None:
    server = to_mcp_server(_clerk(echo, total), tools=["echo"])
    with pytest.raises(MCPError, match="there is no tool 'total'"):
        bench.use(server, call("total", {"values": []}))


def test_what_a_tool_raises_stays_in_the_log(bench: Any, call: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        result = bench.use(to_mcp_server(_clerk(boom), tools="all"), call("boom", {}))
    assert result.is_error
    assert "hunter2" not in str(result)
    assert "hunter2" in caplog.text


def test_arguments_that_do_not_fit_are_an_error_result(bench: Any, call: Any) -> None:
    result = bench.use(to_mcp_server(_clerk(echo), tools="all"), call("echo", {"times": "many"}))
    assert result.is_error
    assert "text" in result.content[0].text


def test_the_callbacks_around_a_tool_run_and_those_of_the_agent_do_not(bench: Any, call: Any) -> None:
    seen: list[str] = []

    def before(tool: Any, args: dict[str, Any], tool_context: Context) -> None:
        seen.append(f"before {tool.name} {args}")

    def agent_callback(callback_context: Context) -> None:
        seen.append("agent")

    agent = _clerk(echo, before_tool_callback=before, before_agent_callback=agent_callback)
    bench.use(to_mcp_server(agent, tools="all"), call("echo", {"text": "x"}))
    assert seen == ["before echo {'text': 'x'}"]


def test_an_approval_before_a_call(bench: Any, call: Any) -> None:
    paid: list[int] = []

    def pay(amount: int) -> dict[str, int]:
        """Pay."""
        paid.append(amount)
        return {"paid": amount}

    server = to_mcp_server(_clerk(FunctionTool(pay, require_confirmation=True)), tools="all")
    result = bench.use(server, call("pay", {"amount": 3}), [{"approve": True}])
    assert (result.structured_content, paid) == ({"paid": 3}, [3])
    server = to_mcp_server(_clerk(FunctionTool(pay, require_confirmation=True)), tools="all")
    result = bench.use(server, call("pay", {"amount": 4}), ["decline"])
    assert result.is_error
    assert paid == [3]


def test_what_a_call_saves_is_sent_along(bench: Any, call: Any) -> None:
    async def draw(tool_context: Context) -> str:
        """Draw."""
        await tool_context.save_artifact("a.png", Part(inline_data=Blob(data=b"PNG", mime_type="image/png")))
        await tool_context.save_artifact("b.wav", Part(inline_data=Blob(data=b"WAV", mime_type="audio/wav")))
        await tool_context.save_artifact("c d.pdf", Part(inline_data=Blob(data=b"PDF", mime_type="application/pdf")))
        await tool_context.save_artifact("e.txt", Part(text="a note"))
        await tool_context.save_artifact(
            "large.png", Part(inline_data=Blob(data=bytes(10_000_001), mime_type="image/png"))
        )
        return "drawn"

    result = bench.use(to_mcp_server(_clerk(draw), tools="all"), call("draw", {}))
    assert [block.type for block in result.content] == ["text", "image", "audio", "resource", "resource", "text"]
    text, image, audio, pdf, note, large = result.content
    assert (text.text, image.data, audio.mime_type) == ("drawn", "UE5H", "audio/wav")
    assert (pdf.resource.uri, pdf.resource.blob, note.resource.text) == ("artifact:c%20d.pdf", "UERG", "a note")
    assert large.text == "The artifact large.png of 10000001 bytes was saved."


def test_no_session_is_left(bench: Any, call: Any) -> None:
    service = InMemorySessionService()
    runner = Runner(agent=_clerk(echo), app_name="clerk", session_service=service)
    bench.use(to_mcp_server(runner=runner, tools="all"), call("echo", {"text": "x"}, {"text": "y"}))
    listed = asyncio.run(service.list_sessions(app_name="clerk", user_id="user"))
    assert listed.sessions == []


def test_what_cannot_be_served_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError, match="is a SequentialAgent, which has no tools"):
        to_mcp_server(SequentialAgent(name="s", sub_agents=[]), tools="all")
    for agent, tools, text in (
        (_clerk(echo), ["ecko"], "has no tool 'ecko' to be served; did you mean 'echo'"),
        (_clerk(google_search), "all", "has no tools to be served"),
    ):
        server = to_mcp_server(agent, tools=tools)
        with pytest.raises(ConfigurationError, match=text):
            asyncio.run(server.offers())
