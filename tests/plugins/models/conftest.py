"""A conversation with an agent through a real Runner, and one model call without an agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.models import BaseLlm
from newel.runners import Runner
from newel_kernel import Event, LlmRequest, LlmResponse, RunConfig, StreamingMode
from newel_types import Content, FunctionDeclaration, GenerateContentConfig, Part, Tool


class Talk:
    """A session with an agent; `say` gives the events of one message."""

    def __init__(self, agent: Any, sse: bool = False) -> None:
        self._runner = Runner(app_name="t", agent=agent, auto_create_session=True, distribution="adk")
        self._config = RunConfig(streaming_mode=StreamingMode.SSE if sse else StreamingMode.NONE)

    def say(self, text: str) -> list[Event]:
        async def run() -> list[Event]:
            events = self._runner.run_async(user_id="u", session_id="s", new_message=text, run_config=self._config)
            return [event async for event in events]

        return asyncio.run(run())

    def answer(self, text: str) -> str:
        """The text of the last event."""
        return text_of(self.say(text)[-1])


def text_of(event: Event) -> str:
    parts = event.content.parts if event.content is not None else None
    return "".join(part.text or "" for part in parts or ())


def calls_of(events: list[Event]) -> list[tuple[str | None, dict[str, Any]]]:
    return [(call.name, call.args or {}) for event in events for call in event.get_function_calls()]


class Kit:
    """What these tests use."""

    Talk = Talk
    text_of = staticmethod(text_of)
    calls_of = staticmethod(calls_of)

    @staticmethod
    def request(*contents: Content | str, tools: list[dict[str, Any]] | None = None, **config: Any) -> LlmRequest:
        """A request; a string is a user's message, a tool is the fields of its declaration."""
        if tools is not None:
            declared = [FunctionDeclaration(**tool) for tool in tools]
            config["tools"] = [Tool(function_declarations=declared)]
        made = [Content(role="user", parts=[Part(text=c)]) if isinstance(c, str) else c for c in contents]
        return LlmRequest(contents=made, config=GenerateContentConfig(**config))

    @staticmethod
    def ask(model: BaseLlm, request: LlmRequest, stream: bool = False) -> list[LlmResponse]:
        async def run() -> list[LlmResponse]:
            return [r async for r in model.generate_content_async(request, stream=stream)]

        return asyncio.run(run())

    @staticmethod
    def called(response: LlmResponse) -> list[tuple[str | None, dict[str, Any] | None]]:
        """The calls of a response."""
        parts = response.content.parts if response.content is not None else None
        return [(p.function_call.name, p.function_call.args) for p in parts or () if p.function_call is not None]

    @staticmethod
    def exchange(name: str, args: dict[str, Any], result: dict[str, Any]) -> list[Content]:
        """A call and its result as contents."""
        return [
            Content(role="model", parts=[Part.from_function_call(name=name, args=args)]),
            Content(role="user", parts=[Part.from_function_response(name=name, response=result)]),
        ]


@pytest.fixture
def kit() -> type[Kit]:
    return Kit
