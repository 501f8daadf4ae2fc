"""Questions over HTTP: listed, answered by their ids, checked; and what is said to an agent at work."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from tests.plugins.server.conftest import Serve
from tests.plugins.server.test_runs import frames, texts

from newel import Agent
from newel.testing import ScriptedModel
from newel.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from newel.types import FunctionCall

SESSION = "/apps/clerk/users/ann/sessions/s"
paid: list[int] = []


def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


def send(topic: str) -> dict[str, str]:
    """Start something that takes days."""
    return {"status": "pending"}


async def dig() -> str:
    """Dig."""
    await asyncio.sleep(0.4)
    return "deep"


def say(client: httpx.Client, text: str) -> list[dict[str, Any]]:
    new = {"role": "user", "parts": [{"text": text}]}
    body = {"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": new}
    answer = client.post("/run", json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def asking(serve: Serve) -> httpx.Client:
    model = ScriptedModel([FunctionCall(name="pay", args={"amount": 20}), "asked", "done"])
    client = serve(
        agents={"clerk": Agent(name="clerk", model=model, tools=[FunctionTool(pay, require_confirmation=True)])}
    )
    client.post(SESSION)
    paid.clear()
    say(client, "pay 20")
    return client


def settled(client: httpx.Client) -> list[dict[str, Any]]:
    for _ in range(200):
        if not client.get(f"{SESSION}/runs").json():
            break
        time.sleep(0.02)
    events: list[dict[str, Any]] = client.get(SESSION).json()["events"]
    return events


def test_an_approval_is_listed_and_answered_by_its_id(serve: Serve) -> None:
    client = asking(serve)
    (question,) = client.get(f"{SESSION}/questions").json()
    assert (question["kind"], question["name"], question["args"]) == ("approval", "pay", {"amount": 20})
    (asking_event,) = (one for one in client.get(SESSION).json()["events"] if question["id"] in str(one["content"]))
    assert question["asked"] == asking_event["timestamp"]
    assert client.get("/apps/clerk/users/ann/questions").json() == [question]
    assert client.get("/apps/clerk/users/bob/questions").json() == []
    answer = client.post(f"{SESSION}/questions/{question['id']}", json={"answer": True})
    assert answer.status_code == 200
    assert answer.json()["status"] in ("running", "done")
    settled(client)
    assert paid == [20]
    assert client.get(f"{SESSION}/questions").json() == []
    again = client.post(f"{SESSION}/questions/{question['id']}", json={"answer": True})
    assert again.status_code == 404
    assert paid == [20]


@pytest.mark.parametrize("answer", ["yes", 1, {"confirmd": True}, {"editedArgs": {"amount": 1}}, None, [True]])
def test_an_answer_that_does_not_fit_is_refused_and_nothing_is_stored(serve: Serve, answer: object) -> None:
    client = asking(serve)
    before = client.get(SESSION).json()
    (question,) = client.get(f"{SESSION}/questions").json()
    refused = client.post(f"{SESSION}/questions/{question['id']}", json={"answer": answer})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", "answer"]
    assert client.get(SESSION).json() == before
    assert paid == []


def test_an_answer_may_be_followed(serve: Serve) -> None:
    client = asking(serve)
    (question,) = client.get(f"{SESSION}/questions").json()
    stream = client.post(f"{SESSION}/questions/{question['id']}", json={"answer": {"confirmed": True}, "follow": True})
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert texts([data for _, data in frames(stream.text)])[-1] == "asked" or paid == [20]
    assert paid == [20]


def test_the_result_of_a_long_running_call_is_posted(serve: Serve) -> None:
    model = ScriptedModel([FunctionCall(name="send", args={"topic": "x"}), "started", "finished"])
    client = serve(agents={"clerk": Agent(name="clerk", model=model, tools=[LongRunningFunctionTool(send)])})
    client.post(SESSION)
    say(client, "go")
    (question,) = client.get(f"{SESSION}/questions").json()
    assert question["kind"] == "result"
    assert client.post(f"{SESSION}/questions/{question['id']}", json={"answer": {"report": 7}}).status_code == 200
    assert texts(settled(client))[-1] == "finished"
    assert client.get(f"{SESSION}/questions").json() == []


def test_unknown_questions_and_sessions_are_not_found(serve: Serve) -> None:
    client = asking(serve)
    assert client.post(f"{SESSION}/questions/none", json={"answer": True}).status_code == 404
    assert client.get("/apps/clerk/users/ann/sessions/none/questions").status_code == 404
    assert client.post(f"{SESSION}/questions/none", json={}).status_code == 422


def test_an_agent_at_work_is_told(serve: Serve) -> None:
    model = ScriptedModel([FunctionCall(name="dig", args={}), "ready", "and more"])
    client = serve(agents={"clerk": Agent(name="clerk", model=model, tools=[dig])})
    client.post(SESSION)
    new = {"role": "user", "parts": [{"text": "dig"}]}
    with client.stream(
        "POST", "/run_sse", json={"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": new}
    ) as stream:
        lines = stream.iter_lines()
        next(lines)
        told = client.post(f"{SESSION}/steer", json={"newMessage": {"parts": [{"text": "only the garden"}]}})
        assert told.status_code == 200, told.text
        for _ in lines:
            pass
    said = [text for text in texts(settled(client)) if text]
    assert said == ["dig", "only the garden", "ready"]
    assert model.requests[-1].contents[-1].parts[0].text == "only the garden"


def test_a_free_session_is_answered(serve: Serve) -> None:
    client = serve()
    client.post(SESSION)
    told = client.post(f"{SESSION}/steer", json={"newMessage": {"parts": [{"text": "hello"}]}})
    assert told.status_code == 200
    assert [text for text in texts(settled(client)) if text] == ["hello", "Good morning"]
    answer = {"parts": [{"functionResponse": {"id": "x", "name": "y", "response": {}}}]}
    assert client.post(f"{SESSION}/steer", json={"newMessage": answer}).status_code == 409


def test_a_tools_question_for_an_input_is_listed_without_what_the_call_keeps(serve: Serve) -> None:
    def book(tool_context: ToolContext) -> object:
        """Book."""
        if tool_context.tool_input is None:
            tool_context.keep({"hold": "h1"})
            return tool_context.request_input("How many?", response_schema=int, payload={"room": 7})
        return f"{tool_context.tool_input.value} under {tool_context.kept['hold']}"

    model = ScriptedModel([FunctionCall(name="book", args={}), "done"])
    client = serve(agents={"clerk": Agent(name="clerk", model=model, tools=[book])})
    client.post(SESSION)
    say(client, "book")
    (question,) = client.get(f"{SESSION}/questions").json()
    assert (question["kind"], question["hint"], question["responseSchema"]) == (
        "input",
        "How many?",
        {"type": "integer"},
    )
    assert question["args"]["payload"] == {"room": 7}
    assert "h1" not in json.dumps(question)
    refused = client.post(f"{SESSION}/questions/{question['id']}", json={"answer": "many"})
    assert refused.status_code == 422
    assert client.post(f"{SESSION}/questions/{question['id']}", json={"answer": 4}).status_code == 200
    assert "4 under h1" in json.dumps(settled(client))
    assert client.get(f"{SESSION}/questions").json() == []
