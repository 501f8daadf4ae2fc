"""HttpLlm: the provider of the documentation, which conforms, and what its author need not write."""

from __future__ import annotations

import asyncio
import re
import traceback
from pathlib import Path
from typing import Any, ClassVar

import pytest

from newel.models import http_llm
from newel.models.http_llm import HttpLlm, Reading
from newel.models.wire.names import Names
from newel.models.wire.service import Service
from newel_kernel import Json, LlmRequest, ModelError
from newel_testkit import WIRE_KEY, WireServer
from newel_testkit.wire.answers import Answer, call
from newel_testkit.wire.caller import Caller, user
from newel_testkit.wire.faults import fault
from newel_types import Content, ExecutableCode, FinishReason, GoogleSearch, Language, Part, Tool

PAGE = Path(__file__).parents[3] / "docs/plugins/write-a-provider.md"
MOST_LINES = 75


class Echoed(Reading):
    """Reads texts and calls of Chat Completions."""

    reasons: ClassVar = {"stop": FinishReason.STOP, "tool_calls": FinishReason.STOP}

    def take(self, event: Json) -> None:
        for choice in event.get("choices") or ():
            self.stop_reason = choice.get("finish_reason") or self.stop_reason
            self.text(choice["delta"].get("content"))
            for one in choice["delta"].get("tool_calls") or ():
                self.call(one["index"], one.get("id"), one["function"].get("name"), one["function"].get("arguments"))


class House(HttpLlm):
    """A model of the house."""

    provider, path, reading = "house", "/chat/completions", Echoed
    settings: ClassVar = {"temperature": "temperature"}

    def body(self, request: LlmRequest, service: Service) -> Json:
        said = [{"role": turn.role, "content": "".join(turn.texts)} for turn in self.turns_of(request, service)]
        tools = [{"type": "function", "function": one} for one in self.functions_of(request)]
        made = {"model": service.model, "stream": True, "messages": said, **self.settings_of(request)}
        return {**made, "tools": tools} if tools else made


@pytest.fixture
def house(wire_server: WireServer) -> Caller:
    def make(name: str) -> House:
        return House(model=name, base_url=wire_server.base["compatible"], api_key=WIRE_KEY)

    return Caller(wire_server, make, "small")


def test_a_provider_is_written_in_few_lines() -> None:
    """The page's first blocks are the provider; they run, and conform, in the tests of the documentation."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    provider = [block for block in blocks if "model_conformance" not in block and "hookimpl" not in block]
    assert "class LabLlm" in provider[-1]
    assert sum(len(block.splitlines()) for block in provider) <= MOST_LINES


def test_what_the_service_has_no_name_for_is_said_once(house: Caller, caplog: pytest.LogCaptureFixture) -> None:
    search = Tool(google_search=GoogleSearch())
    body = house.sent(user("Hi"), temperature=0.5, seed=3, tools=[search])
    assert body["temperature"] == 0.5
    assert not body.keys() & {"seed", "tools"}
    assert "house has no seed" in caplog.text
    assert "no tool google_search" in caplog.text


def test_calls_under_one_index_and_their_text(house: Caller) -> None:
    answer = Answer(parts=({"text": "Look."}, call("a", {"x": 1}, "1"), call("b", {}, "2")), stop="tool_calls")
    whole, streamed = (house.answered(answer, stream=stream) for stream in (False, True))
    assert whole == streamed
    parts = (whole.content.parts if whole.content is not None else None) or []
    assert [part.text or (part.function_call.name, part.function_call.args) for part in parts] == [  # type: ignore[union-attr]
        "Look.",
        ("a", {"x": 1}),
        ("b", {}),
    ]


def test_pieces_of_a_call_that_all_have_its_id_are_one_call() -> None:
    reading = Echoed(Service("house", "small"), Names())
    for index, call_id, name, arguments in (
        (0, "1", "a", '{"x"'),
        (0, "1", "a", ": 1}"),
        (0, "2", "b", "{}"),
        (1, None, "c", '{"y"'),
        (1, "3", None, ":2}"),
    ):
        reading.call(index, call_id, name, arguments)
    reading.stop_reason = "tool_calls"
    calls = [part.function_call for part in reading.response().content.parts]  # type: ignore[union-attr]
    assert [(one.id, one.name, one.args) for one in calls if one is not None] == [
        ("1", "a", {"x": 1}),
        ("2", "b", {}),
        ("3", "c", {"y": 2}),
    ]


def test_a_connection_that_breaks_within_an_answer_is_said_to(house: Caller) -> None:
    with pytest.raises(ModelError, match="broke off: the connection broke within the answer") as broken:
        house.ask(user("Hi"), steps=fault("stream_cut"), stream=True)
    assert (broken.value.code, broken.value.retryable) == ("INCOMPLETE_STREAM", True)


def test_a_header_that_is_none_does_not_show_the_key(house: Caller) -> None:
    class Quoting(House):
        def headers(self) -> dict[str, str]:
            return {"authorization": f"{WIRE_KEY}\n"}

    llm = Quoting(model="small", base_url=house.server.base["compatible"], api_key=WIRE_KEY)
    with pytest.raises(ModelError, match="Illegal header value") as refused:
        house.ask(user("Hi"), llm=llm)
    assert WIRE_KEY not in "".join(traceback.format_exception(refused.value))


def test_code_that_another_service_ran_is_refused_in_words(house: Caller) -> None:
    code = Part(executable_code=ExecutableCode(code="1", language=Language.PYTHON))
    with pytest.raises(ModelError, match="takes no code that a model's service ran"):
        house.ask(user("Hi"), Content(role="model", parts=[code]), user("And?"))


def test_without_an_http_library_there_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_llm, "find_spec", lambda name: None)
    model = House(model="small", base_url="http://127.0.0.1:9")

    async def ask() -> list[Any]:
        return [one async for one in model.generate_content_async(LlmRequest(contents=[user("Hi")]))]

    with pytest.raises(ModelError, match="pip install httpx2"):
        asyncio.run(ask())
