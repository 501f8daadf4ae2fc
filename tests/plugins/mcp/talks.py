"""One session of an agent whose tools are a server's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any

from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.runners import InMemoryRunner
from newel_types import Content, FunctionCall, FunctionResponse, Part

Make = Callable[..., Any]


def in_a_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """An asynchronous test."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


class Talk:
    """A runner, a session and a model with a script; after the steps the model says ``end``."""

    def __init__(self, tools: list[Any], *steps: Any, user: str = "ada", runner: Any = None, **options: Any) -> None:
        self.model = ScriptedModel([*steps, "end"])
        self.user = user
        agent = LlmAgent(name="root", model=self.model, tools=tools, **options.pop("agent", {}))
        self.runner = InMemoryRunner(agent=agent, app_name="app", **options)
        if runner is not None:  # another worker of the same app, with the same stores
            self.runner.session_service = runner.session_service
        self.session: Any = None

    async def say(self, text: str | Content = "go") -> list[Any]:
        if self.session is None:
            self.session = await self.runner.session_service.create_session(app_name="app", user_id=self.user)
        message = text if isinstance(text, Content) else Content(role="user", parts=[Part(text=text)])
        events = self.runner.run_async(user_id=self.user, session_id=self.session.id, new_message=message)
        return [event async for event in events]

    async def answer(self, question: FunctionCall, response: Any) -> list[Any]:
        given = FunctionResponse(id=question.id, name=question.name, response=response)
        return await self.say(Content(role="user", parts=[Part(function_response=given)]))

    def declared(self, request: int = 0) -> dict[str, Any]:
        tools = self.model.requests[request].config.tools or []
        return {one.name: one for tool in tools for one in tool.function_declarations or ()}


def call(name: str, **args: Any) -> FunctionCall:
    """A call of the model's."""
    return FunctionCall(name=name, args=args)


def results(events: list[Any]) -> list[Any]:
    """What the calls gave."""
    return [response.response for event in events for response in event.get_function_responses()]


def questions(events: list[Any], name: str) -> list[FunctionCall]:
    """What the user is asked."""
    return [one for event in events for one in event.get_function_calls() if one.name == name]


async def responses(toolset: Any, *steps: Any) -> list[Any]:
    """What the calls of one run gave; the toolset is closed."""
    try:
        return results(await Talk([toolset], *steps).say())
    finally:
        await toolset.close()
