"""Credentials that a tool asks for within a live session: the user answers, and the same call runs with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.plugins.live.live_runs import Live, result, told

from newel.agents import LiveRequestQueue
from newel.auth import AuthConfig
from newel.auth.auth_schemes import APIKey, APIKeyIn
from newel.testing import TURN_COMPLETE, WaitFor
from newel.tools import FunctionTool, ToolContext
from newel_kernel import Event, LlmResponse
from newel_types import Content, FunctionCall, FunctionResponse, Part

ASK, APPROVE = "adk_request_credential", "adk_request_confirmation"
KEY = "k-secret-123"
CONFIG = AuthConfig(auth_scheme=APIKey(in_=APIKeyIn.header, name="X-Key"), credential_key="weather")
SCHEME = {"type": "apiKey", "in": "header", "name": "X-Key"}
ANSWER = {"authScheme": SCHEME, "exchangedAuthCredential": {"authType": "apiKey", "apiKey": KEY}}
SCRIPT = [
    WaitFor("content"),
    FunctionCall(name="act", args={}, id="c1"),
    WaitFor("results"),
    "it was called",
    TURN_COMPLETE,
]


def act(tool_context: ToolContext) -> dict[str, Any]:
    """Act."""
    credential = tool_context.get_auth_response(CONFIG)
    if credential is None:
        tool_context.request_credential(CONFIG)
        return {"status": "asked"}
    return {"status": "called", "length": len(credential.api_key or ""), "echo": credential.api_key}


def sent(live: Live) -> list[FunctionResponse]:
    """What the model was told of its calls."""
    [connection] = live.model.connections
    return [part.function_response for content in connection.of("results") for part in content.parts]


class Answers:
    """Answers the framework's requests for a credential, one after the other."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[FunctionCall] = []

    def __call__(self, event: Event, queue: LiveRequestQueue) -> None:
        for call in event.get_function_calls():
            if call.name == ASK:
                self.asked.append(call)
                if self._answers:
                    queue.send_content(result(ASK, self._answers.pop(0), call.id or ""))


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_the_call_runs_with_the_answer_and_its_result_goes_to_the_model(distribution: str) -> None:
    async def whole() -> None:
        live = Live(SCRIPT, tools=[act], distribution=distribution)
        answers = Answers(ANSWER)
        events = await live.run("go", react=answers)
        assert [told(event) for event in events] == [
            "call act",
            f"call {ASK}",
            "result act",
            "result act",
            "root: it was called",
            "turn",
        ]
        assert events[1].long_running_tool_ids == {answers.asked[0].id}
        [answer] = sent(live)
        assert (answer.id, answer.name) == ("c1", "act")
        assert answer.response["status"] == "called"
        assert answer.response["length"] == len(KEY)
        kinds = [told(event) for event in await live.stored()]
        assert kinds.count(f"result {ASK}") == 1

    asyncio.run(whole())


def test_the_secret_is_in_no_event_and_not_told_to_the_model() -> None:
    async def whole() -> None:
        live = Live(SCRIPT, tools=[act], distribution="standard")
        events = await live.run("go", react=Answers(ANSWER))
        assert KEY not in "".join(event.model_dump_json() for event in [*events, *await live.stored()])
        assert KEY not in str(sent(live))
        kept = [
            one.response for event in await live.stored() for one in event.get_function_responses() if one.name == ASK
        ]
        assert kept == [{"credentialKey": "weather", "exchangedAuthCredential": {"authType": "apiKey"}}]

    asyncio.run(whole())


def test_an_answer_without_a_credential_asks_again_in_the_same_session() -> None:
    async def whole() -> None:
        live = Live(SCRIPT, tools=[act], distribution="standard")
        answers = Answers({"authScheme": SCHEME}, ANSWER)
        await live.run("go", react=answers)
        assert len(answers.asked) == 2
        assert [one.response["status"] for one in sent(live)] == ["called"]

    asyncio.run(whole())


def test_an_answer_that_is_none_is_refused_and_the_session_goes_on() -> None:
    async def whole() -> None:
        live = Live(SCRIPT, tools=[act], distribution="standard")

        def react(event: Event, queue: LiveRequestQueue) -> None:
            answers(event, queue)
            if event.error_code == "INVALID_INPUT":
                queue.send_content(result(ASK, ANSWER, answers.asked[0].id or ""))

        answers = Answers({"apiKey": KEY})
        events = await live.run("go", react=react)
        [refused] = [event for event in events if event.error_code]
        assert "is not an AuthConfig" in (refused.error_message or "")
        assert KEY not in "".join(event.model_dump_json() for event in [*events, *await live.stored()])
        assert [one.response["status"] for one in sent(live)] == ["called"]

    asyncio.run(whole())


def test_what_was_asked_in_a_session_may_be_answered_in_the_next() -> None:
    async def whole() -> None:
        first = [WaitFor("content"), FunctionCall(name="act", args={}, id="c1"), "just a moment", TURN_COMPLETE]
        live = Live(first, [WaitFor("results"), "it was called", TURN_COMPLETE], tools=[act], distribution="standard")
        answers = Answers()
        await live.run("go", react=answers)
        events = await live.run(result(ASK, ANSWER, answers.asked[0].id or ""))
        assert [told(event) for event in events] == ["result act", "root: it was called", "turn"]
        [answer] = [
            part.function_response for content in live.model.connections[1].of("results") for part in content.parts
        ]
        assert (answer.id, answer.response["status"]) == ("c1", "called")
        assert KEY not in "".join(event.model_dump_json() for event in await live.stored())

    asyncio.run(whole())


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_what_the_model_says_meanwhile_does_not_hide_the_answer(distribution: str) -> None:
    async def whole() -> None:
        script = [*SCRIPT[:2], "one moment", "or two", *SCRIPT[2:]]
        live = Live(script, tools=[act], distribution=distribution)
        answers = Answers(ANSWER)

        async def react(event: Event, queue: LiveRequestQueue) -> None:
            answers(event, queue)
            if answers.asked:
                await asyncio.sleep(0.01)  # whoever reads the queue has time

        events = await live.run("go", react=react)
        assert [told(event) for event in events][2:] == [
            "result act",
            "root: one moment",
            "root: or two",
            "result act",
            "root: it was called",
            "turn",
        ]
        assert [one.response["status"] for one in sent(live)] == ["called"]

    asyncio.run(whole())


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_answers_that_come_close_together_are_each_taken_up(distribution: str) -> None:
    """One to a request for a credential, one to a request for an approval."""

    def wipe() -> str:
        """Wipe."""
        return "wiped"

    async def whole() -> None:
        parts = [
            Part(function_call=FunctionCall(name=name, args={}, id=id_))
            for name, id_ in (("act", "c1"), ("wipe", "c2"))
        ]
        both = LlmResponse(content=Content(role="model", parts=parts))
        script = [WaitFor("content"), both, WaitFor("results", 2), "both are done", TURN_COMPLETE]
        tools = [act, FunctionTool(wipe, require_confirmation=True)]
        live = Live(script, tools=tools, distribution=distribution)
        asked: list[FunctionCall] = []

        async def react(event: Event, queue: LiveRequestQueue) -> None:
            asked.extend(call for call in event.get_function_calls() if call.name in (ASK, APPROVE))
            if len(asked) == 2 and any(one.name == "wipe" for one in event.get_function_responses()):
                for call in asked:
                    answer = ANSWER if call.name == ASK else {"confirmed": True}
                    queue.send_content(result(call.name or "", answer, call.id or ""))
                asked.clear()
                await asyncio.sleep(0.01)

        await live.run("go", react=react)
        assert sorted((one.id, (one.response.get("status") or one.response["result"])) for one in sent(live)) == [
            ("c1", "called"),
            ("c2", "wiped"),
        ]

    asyncio.run(whole())


def test_a_tool_that_listens_does_not_hear_an_answer() -> None:
    heard: list[str] = []

    async def listen(input_stream: LiveRequestQueue) -> AsyncGenerator[Any, None]:
        """Listen."""
        while (request := await input_stream.get()) is not None:
            heard.append(str(request))
        yield "over"

    async def whole() -> None:
        script = [
            WaitFor("content"),
            FunctionCall(name="listen", args={}, id="c0"),
            WaitFor("results"),
            FunctionCall(name="act", args={}, id="c1"),
            WaitFor("results"),
            "so",
            WaitFor("content"),
            TURN_COMPLETE,
        ]
        live = Live(script, tools=[act, listen], distribution="standard")
        answers = Answers(ANSWER)

        def react(event: Event, queue: LiveRequestQueue) -> None:
            answers(event, queue)
            if told(event) == "root: so":
                live.put("and this")

        await live.run("go", react=react)
        assert ["and this" in one for one in heard] == [True]

    asyncio.run(whole())
