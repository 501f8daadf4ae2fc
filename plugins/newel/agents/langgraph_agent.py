"""LangGraphAgent: a compiled LangGraph graph as an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from importlib import import_module
from typing import Any

from pydantic import field_validator

from newel.agents import base_agent
from newel_kernel import Event, InvocationContext, Json, ModelError
from newel_types import Content, Part

_CLASSES = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage"}


class LangGraphAgent(base_agent.BaseAgent):
    """Sends the conversation to `graph` and yields its last message.

    The graph's state has `messages`. A graph with a checkpointer remembers the conversation itself, in the
    thread named by the session's id, and gets only the user's latest messages. `instruction` is the first message of a
    new thread.
    """

    graph: object
    instruction: str = ""

    @field_validator("graph")
    @classmethod
    def _is_graph(cls, graph: object) -> object:
        if not (hasattr(graph, "ainvoke") or hasattr(graph, "invoke")):
            raise ValueError(
                f"{type(graph).__name__} is not a compiled graph (it has neither ainvoke nor invoke); build one with "
                f"LangGraph (pip install langgraph) and pass builder.compile()"
            )
        return graph

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        config = {"configurable": {"thread_id": ctx.session.id}}
        remembers = bool(getattr(self.graph, "checkpointer", None))
        turns = [] if remembers and await self._state(config) else self._opening()
        turns += _latest(ctx.session.events) if remembers else _dialogue(ctx.session.events, self.name)
        result = await self._call("invoke", {"messages": [_message(role, text) for role, text in turns]}, config)
        yield Event(
            invocation_id=ctx.invocation_id,
            author=self.name,
            branch=ctx.branch,
            content=Content(role="model", parts=[Part(text=self._answer(result))]),
        )

    def _opening(self) -> list[tuple[str, str]]:
        return [("system", self.instruction)] if self.instruction else []

    async def _state(self, config: Json) -> object:
        """The messages that the graph's checkpointer holds for this thread."""
        state = await self._call("get_state", config)
        return (getattr(state, "values", None) or {}).get("messages")

    async def _call(self, name: str, *args: object) -> Any:
        """Call the asynchronous method, or, if the graph has none, the synchronous one in a thread."""
        own = getattr(self.graph, f"a{name}", None)
        return await own(*args) if own is not None else await asyncio.to_thread(getattr(self.graph, name), *args)

    def _answer(self, result: object) -> str:
        messages = result.get("messages") if isinstance(result, dict) else None
        if not messages:
            raise ModelError(f"the graph of agent {self.name!r} returned no `messages`: its state needs that key")
        last = messages[-1]
        content = last.get("content") if isinstance(last, dict) else getattr(last, "content", last)
        if isinstance(content, list):  # blocks of several kinds
            return "".join(b if isinstance(b, str) else str(b.get("text", "")) for b in content)
        return str(content)


def _text(event: Event) -> str:
    parts = event.content.parts if event.content is not None else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought)


def _latest(events: Iterable[Event]) -> list[tuple[str, str]]:
    """The user's messages since the latest event of another author."""
    turns: list[tuple[str, str]] = []
    for event in reversed(list(events)):
        if event.author != "user":
            if turns:
                break
        elif text := _text(event):
            turns.append(("user", text))
    return turns[::-1]


def _dialogue(events: Iterable[Event], name: str) -> list[tuple[str, str]]:
    """The messages of the user and of the agent `name`."""
    roles = {"user": "user", name: "assistant"}
    return [(roles[e.author], text) for e in events if e.author in roles and (text := _text(e))]


def _message(role: str, text: str) -> object:
    """A LangChain message; without LangChain, the dict that its reducers also accept."""
    try:
        messages = import_module("langchain_core.messages")
    except ModuleNotFoundError:
        return {"role": role, "content": text}
    return getattr(messages, _CLASSES[role])(content=text)
