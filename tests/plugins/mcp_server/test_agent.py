"""The agent as one tool."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from newel import Agent, Context, Runner
from newel.mcp import McpToolset, StdioConnectionParams
from newel.mcp_server import to_mcp_server
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool, ToolContext, get_user_choice
from newel_kernel import ConfigurationError
from newel_types import Blob, Content, FunctionCall, Part


def _clerk(*answers: Any, **fields: Any) -> Agent:
    fields = {"description": "Sells tickets.", **fields}
    return Agent(name="clerk", model=ScriptedModel(list(answers)), **fields)


def test_it_is_listed_with_a_schema_of_its_input(bench: Any) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    (tool,) = bench.use(to_mcp_server(_clerk()), use)
    assert (tool.name, tool.description) == ("clerk", "Sells tickets.")
    assert tool.input_schema["required"] == ["request"]
    assert set(tool.input_schema["properties"]) == {"request", "session"}
    assert tool.output_schema["properties"]["answer"] == {"type": "string"}


def test_an_answer_and_the_session_that_goes_on(bench: Any, call: Any) -> None:
    async def use(client: Client) -> Any:
        first = await client.call_tool("clerk", {"request": "one"})
        session = first.structured_content["session"]
        return first, await client.call_tool("clerk", {"request": "two", "session": session})

    model = ScriptedModel(["first", "second"])
    first, second = bench.use(to_mcp_server(Agent(name="clerk", model=model)), use)
    assert first.content[0].text == "first"
    assert first.structured_content["session"] in first.content[1].text
    assert second.structured_content == {"answer": "second", "session": first.structured_content["session"]}
    assert [part.text for content in model.requests[1].contents for part in content.parts] == ["one", "first", "two"]


def test_a_session_that_the_server_did_not_make_is_not_continued(bench: Any) -> None:
    service = InMemorySessionService()
    runner = Runner(agent=_clerk("no"), app_name="clerk", session_service=service)

    async def use(client: Client) -> Any:
        await service.create_session(app_name="clerk", user_id="user", session_id="private")
        return [await client.call_tool("clerk", {"request": "x", "session": one}) for one in ("private", "mcp-1", 7)]

    for result in bench.use(to_mcp_server(runner=runner), use):
        assert result.is_error
        assert "leave out `session`" in result.content[0].text


class Order(BaseModel):
    seats: int
    session: str = ""


class Ticket(BaseModel):
    row: int


def test_an_agent_with_schemas(bench: Any, call: Any) -> None:
    agent = _clerk('{"row": 7}', input_schema=Order, output_schema=Ticket)

    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools[0], await client.call_tool("clerk", {"seats": 2, "session": "mine"})

    tool, result = bench.use(to_mcp_server(agent), use)
    assert tool.input_schema["required"] == ["seats"]
    assert tool.output_schema["properties"]["answer"]["properties"]["row"]["type"] == "integer"
    assert result.structured_content == {"answer": {"row": 7}}  # `session` is the agent's own argument
    wrong = bench.use(to_mcp_server(agent), call("clerk", {"seats": "many"}))
    assert wrong.is_error
    assert "the arguments do not fit" in wrong.content[0].text


def test_pictures_are_pictures(bench: Any, call: Any) -> None:
    picture = Part(inline_data=Blob(data=b"\x89PNG", mime_type="image/png"))
    agent = _clerk(Content(role="model", parts=[Part(text="Here"), picture]))
    result = bench.use(to_mcp_server(agent), call("clerk", {"request": "draw"}))
    assert [block.type for block in result.content] == ["text", "image", "text"]
    assert (result.content[1].data, result.content[1].mime_type) == ("iVBORw==", "image/png")


def test_what_fails_is_a_reference_into_the_log(bench: Any, call: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fail(callback_context: Context) -> None:
        raise RuntimeError("password hunter2")

    with caplog.at_level(logging.ERROR):
        result = bench.use(to_mcp_server(_clerk("x", before_agent_callback=fail)), call("clerk", {"request": "x"}))
    assert result.is_error
    assert "hunter2" not in result.content[0].text
    ref = result.content[0].text.partition("ref ")[2].partition(")")[0]
    assert ref
    assert any(ref in record.getMessage() for record in caplog.records)


def test_an_unknown_tool(bench: Any, call: Any) -> None:
    with pytest.raises(MCPError, match="there is no tool 'clark'; did you mean 'clerk'"):
        bench.use(to_mcp_server(_clerk()), call("clark", {}))


def test_what_it_writes_is_progress(bench: Any) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool("clerk", {"request": "x"}, progress_callback=bench.note)

    model = ScriptedModel([["The ", "answer"]])
    result = bench.use(to_mcp_server(Agent(name="clerk", model=model)), use)
    assert result.structured_content["answer"] == "The answer"
    assert bench.progress[0] == "The "


def test_the_progress_of_the_servers_that_it_uses_is_its_own(bench: Any) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool("clerk", {"request": "x"}, progress_callback=bench.note)

    server = Path(__file__).parents[1] / "mcp" / "servers" / "good.py"
    params = StdioConnectionParams(server_params={"command": sys.executable, "args": [str(server)]}, timeout=30)  # type: ignore[arg-type]
    model = ScriptedModel([FunctionCall(name="slow", args={"seconds": 0.1, "key": "k"}), "done"])
    agent = Agent(name="clerk", model=model, tools=[McpToolset(connection_params=params)])
    assert bench.use(to_mcp_server(agent), use).structured_content["answer"] == "done"
    assert [one for one in bench.progress if one.startswith("slow: ")] == [f"slow: step {n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("answer", [{"value": 4}, "decline"])
def test_a_tools_question_for_an_input_is_a_form(bench: Any, call: Any, answer: Any) -> None:
    def book(tool_context: ToolContext) -> Any:
        """Book."""
        given = tool_context.tool_input
        return given.value if given is not None else tool_context.request_input("How many?", response_schema=int | None)

    agent = Agent(name="clerk", model=ScriptedModel([FunctionCall(name="book", args={}), "booked"]), tools=[book])
    result = bench.use(to_mcp_server(agent, tools="all"), call("book", {}), [answer])
    assert [one.message for one in bench.asked] == ["How many?"]
    assert bench.asked[0].requested_schema["properties"] == {"value": {"type": "integer"}}
    assert result.structured_content == {"result": 4 if answer != "decline" else None}


def test_cancelling_the_call_ends_the_run(bench: Any) -> None:
    ended = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "never"

    started: list[Any] = []

    async def use(client: Client) -> Any:
        call = asyncio.ensure_future(client.call_tool("clerk", {"request": "x"}))
        while not runner.runs:
            await asyncio.sleep(0.01)
        started.extend(runner.runs)
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.wait_for(ended.wait(), 5)

    agent = _clerk(Part.from_function_call(name="wait", args={}), "done", tools=[wait])
    runner = Runner(agent=agent, app_name="clerk", session_service=InMemorySessionService())
    bench.use(to_mcp_server(runner=runner), use)
    assert started[0].status.value == "cancelled"


def pay(amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount}


def _paying() -> Agent:
    call = Part.from_function_call(name="pay", args={"amount": 3})
    return _clerk(call, "settled", tools=[FunctionTool(pay, require_confirmation=True)])


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([{"approve": True}], {"paid": 3}),
        ([{"approve": False}], {"error": "This tool call is rejected."}),
        (["decline"], {"error": "This tool call is rejected."}),
        (["cancel"], {"error": "This tool call is rejected."}),
        (None, {"error": "This tool call is rejected."}),  # a client without forms
    ],
)
def test_an_approval_is_asked_by_a_form(bench: Any, call: Any, answers: Any, result: Any) -> None:
    agent = _paying()
    answer = bench.use(to_mcp_server(agent), call("clerk", {"request": "pay"}), answers)
    assert answer.structured_content["answer"] == "settled"
    responses = [p.function_response for c in agent.model.requests[-1].contents for p in c.parts if p.function_response]
    assert responses[-1].response == result
    if answers is not None:
        assert bench.asked[0].message == "approve pay(amount=3)?"


def test_an_input_is_asked_by_a_form(bench: Any, call: Any) -> None:
    agent = _clerk(
        Part.from_function_call(name="get_user_choice", args={"options": ["window", "aisle"]}),
        "seated",
        tools=[get_user_choice],
    )
    answer = bench.use(to_mcp_server(agent), call("clerk", {"request": "sit"}), [{"value": "aisle"}])
    assert answer.structured_content["answer"] == "seated"
    assert bench.asked[0].requested_schema["properties"]["value"]["enum"] == ["window", "aisle"]


def test_an_answer_that_does_not_fit_says_so(bench: Any, call: Any) -> None:
    agent = _clerk(
        Part.from_function_call(name="get_user_choice", args={"options": ["a", "b"]}), "x", tools=[get_user_choice]
    )
    answer = bench.use(to_mcp_server(agent), call("clerk", {"request": "sit"}), [{"value": "c"}])
    assert answer.is_error
    assert "not one of ['a', 'b']" in answer.content[0].text


def test_an_answer_counts_once_and_survives_the_process() -> None:
    """Of the newer protocol: the question is a result, whose state another server of the same key and store takes."""
    service, key, agent = InMemorySessionService(), "k" * 32, _paying()
    paid: list[int] = []
    agent.tools = [FunctionTool(lambda amount: paid.append(amount), name="pay", require_confirmation=True)]

    def server() -> Any:
        runner = Runner(agent=agent, app_name="clerk", session_service=service)
        return to_mcp_server(runner=runner, state_key=key)

    async def run() -> list[Any]:
        results: list[Any] = []
        request: dict[str, Any] = {"name": "clerk", "arguments": {"request": "pay"}}

        async def elicit(context: Any, params: Any) -> Any:
            raise AssertionError("the test answers by itself")

        for _ in range(3):
            async with Client(server().sdk, mode="2026-07-28", elicitation_callback=elicit) as client:
                result = await client.session.call_tool(
                    request["name"],
                    request["arguments"],
                    input_responses=request.get("responses"),
                    request_state=request.get("state"),
                    allow_input_required=True,
                )
            results.append(result)
            if request.get("state") is None:
                (question,) = result.input_requests
                request["state"] = result.request_state
                request["responses"] = {question: {"action": "accept", "content": {"approve": True}}}
        return results

    _, answered, again = asyncio.run(run())
    assert answered.structured_content["answer"] == "settled"
    assert paid == [3]
    assert again.is_error
    assert again.content[0].text == "what was asked has its answer by now"


def test_two_calls_at_once_in_one_session(bench: Any) -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(0.3)
        return "done"

    async def use(client: Client) -> Any:
        first = await client.call_tool("clerk", {"request": "x"})
        again = {"request": "x", "session": first.structured_content["session"]}
        return await asyncio.gather(client.call_tool("clerk", again), client.call_tool("clerk", again))

    call = Part.from_function_call(name="wait", args={})
    agent = _clerk("hello", call, "one", call, "two", tools=[wait])
    results = bench.use(to_mcp_server(agent), use)
    assert {one.content[0].text for one in results if not one.is_error} <= {"one", "two"}
    refused = [one.content[0].text for one in results if one.is_error]
    assert all("has a run under way" in text for text in refused)


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigurationError, match="takes an agent"):
        to_mcp_server()
