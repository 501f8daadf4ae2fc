"""google-genai's objects, and mocks as callbacks, at the public doors: they work as ours do, or an error names them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from newel import Agent, Event, types
from newel.agents import BaseAgent, LlmAgent
from newel.models import LlmRequest, LlmResponse
from newel.runners import InMemoryRunner
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool

sdk = pytest.importorskip("google.genai.types")
Shapes = dict[str, Callable[[Any], Any]]
#: What stands for a message, from either library.
MESSAGES: Shapes = {
    "content": lambda lib: lib.Content(role="user", parts=[lib.Part(text="hello")]),
    "part": lambda lib: lib.Part(text="hello"),
    "parts": lambda lib: [lib.Part(text="hello")],
    "dict": lambda lib: lib.Content(role="user", parts=[lib.Part(text="hello")]).model_dump(exclude_none=True),
}
LIBRARIES = [sdk, types]


def text_of(content: Any) -> str | None:
    assert type(content).__module__.startswith("newel_types")
    return content.parts[0].text  # type: ignore[no-any-return]


def said(agent: BaseAgent, message: Any = "hi") -> Conversation:
    chat = Conversation(agent, distribution="standard")
    asyncio.run(chat.send(message))
    return chat


@pytest.mark.parametrize("lib", LIBRARIES, ids=["google", "newel"])
@pytest.mark.parametrize("shape", MESSAGES)
def test_a_message_keeps_its_text(shape: str, lib: Any) -> None:
    value = MESSAGES[shape](lib)
    assert text_of(Event(author="a", message=value).content) == "hello"
    if shape != "parts":
        assert text_of(Event(author="a", content=value).content) == "hello"
        assert text_of(LlmResponse.model_validate({"content": value}).content) == "hello"
    model = ScriptedModel(["ok"])
    if shape != "dict":
        said(Agent(name="a", model=model), value)
        assert text_of(model.requests[0].contents[0]) == "hello"


@pytest.mark.parametrize("lib", LIBRARIES, ids=["google", "newel"])
@pytest.mark.parametrize("shape", [*(one for one in MESSAGES if one != "dict"), "text"])
@pytest.mark.parametrize("present", [None, "text", "content", "part"])
def test_instructions_are_joined_as_texts(present: str | None, shape: str, lib: Any) -> None:
    request = LlmRequest(model="m")
    if present is not None:
        request.config.system_instruction = "before" if present == "text" else MESSAGES["content"](lib)
    request.append_instructions("hello" if shape == "text" else MESSAGES[shape](lib))
    told = request.config.system_instruction
    if present in (None, "text"):
        assert told == ("hello" if present is None else "before\n\nhello")
    else:
        assert [part.text for part in told.parts] == ["hello", "hello"]


@pytest.mark.parametrize(
    "bad", [1, {"text": "x"}, [1], [types.Part(inline_data=types.Blob(data=b"x", mime_type="a/b"))]]
)
def test_what_is_no_instruction_is_refused_at_once(bad: Any) -> None:
    with pytest.raises(TypeError, match="an instruction"):
        LlmRequest(model="m").append_instructions(bad)


@pytest.mark.parametrize("way", ["argument", "assigned", "tools"])
@pytest.mark.parametrize("declares", [True, False])
def test_a_tool_of_the_sdk_is_joined_with_ours(way: str, declares: bool) -> None:
    other = sdk.Tool(function_declarations=[sdk.FunctionDeclaration(name="other")])
    entry = other if declares else sdk.Tool(google_search=sdk.GoogleSearch())
    config = sdk.GenerateContentConfig(tools=[entry], temperature=0.5)
    request = LlmRequest(model="m", config=config) if way == "argument" else LlmRequest(model="m")
    if way == "assigned":
        request.config = config
    elif way == "tools":
        request.config.tools = [entry]

    def look(where: str) -> str:
        """Look."""
        return where

    request.append_tools([FunctionTool(look)])
    tools = request.config.tools or []
    assert all(isinstance(tool, types.Tool) for tool in tools)
    names = [one.name for tool in tools for one in tool.function_declarations or ()]  # type: ignore[union-attr]
    assert names == (["other", "look"] if declares else ["look"])
    assert len(tools) == (1 if declares else 2)


def test_an_object_of_another_class_is_named_and_not_emptied() -> None:
    wrong = sdk.Tool(google_search=sdk.GoogleSearch())
    for door in (lambda: Event(author="a", content=wrong), lambda: LlmResponse.model_validate({"content": wrong})):
        with pytest.raises(ValueError, match="a Content is needed, not a google"):
            door()
    answer = sdk.GenerateContentResponse(candidates=[])
    agent = Agent(
        name="a", model=ScriptedModel(["ok"]), before_model_callback=lambda callback_context, llm_request: answer
    )
    with pytest.raises(Exception, match="returned GenerateContentResponse; it must return LlmResponse"):
        said(agent)


CALLBACKS = [name for name in LlmAgent.model_fields if name.endswith("_callback")]
MOCKS = [AsyncMock, MagicMock]


@pytest.mark.parametrize(("name", "mock"), list(itertools.product(CALLBACKS, MOCKS)))
def test_mocks_are_callbacks(name: str, mock: Any) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    callback = mock(return_value=None)
    model = ScriptedModel([{"call": "look", "args": {}}, "ok"])
    said(Agent(name="a", model=model, tools=[look], **{name: callback}))
    assert callback.call_count == {"on": 0, "before": 1, "after": 1}[name.split("_")[0]] * (1 + ("model" in name))


@pytest.mark.parametrize("lib", LIBRARIES, ids=["google", "newel"])
@pytest.mark.parametrize("shape", ["content", "part"])
def test_callbacks_answer_with_objects_of_the_sdk(shape: str, lib: Any) -> None:
    callback = AsyncMock(return_value=MESSAGES[shape](lib))
    agent = Agent(name="a", model=ScriptedModel([]), before_agent_callback=callback)
    chat = said(agent)
    stored = asyncio.run(chat.stored())
    assert text_of(stored.events[-1].content) == "hello"


def test_a_runner_is_given_a_part_of_the_sdk() -> None:
    async def run() -> list[Event]:
        runner = InMemoryRunner(agent=Agent(name="a", model=ScriptedModel(["ok"])), app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="u")
        message = sdk.Part(text="hello")
        return [e async for e in runner.run_async(user_id="u", session_id=session.id, new_message=message)]

    assert text_of(asyncio.run(run())[0].content) == "ok"
