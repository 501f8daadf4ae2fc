"""LangGraphAgent: a compiled LangGraph graph as an agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from importlib import import_module
from typing import Any

from pydantic import field_validator

from newel.agents import base_agent
from newel_kernel import Event, InvocationContext, ModelError
from newel_types import Content, Part

_CLASSES = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage"}


class LangGraphAgent(base_agent.BaseAgent):
    """Sends the conversation to `graph` and yields its last message.

    The graph's state has `messages`. A graph with a checkpointer remembers the conversation itself, in a thread of
    its own for each app, user, session and agent, and gets only the user's latest messages. `instruction` is the first
    message of a new thread. What a graph asks with `interrupt()` is the agent's answer, and the user's next message
    resumes it.
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
        config = {"configurable": {"thread_id": self._thread(ctx)}}
        remembers = bool(getattr(self.graph, "checkpointer", None))
        state = await self._call("get_state", config) if remembers else None
        if waiting := _interrupts(state):
            given: object = _resuming(waiting, "\n".join(text for _, text in _latest(ctx.session.events)))
        else:
            turns = [] if _messages(state) else self._opening()
            turns += _latest(ctx.session.events) if remembers else _dialogue(ctx.session.events, self.name)
            given = {"messages": [_message(role, text) for role, text in turns]}
        result = await self._call("invoke", given, config)
        yield Event(
            invocation_id=ctx.invocation_id,
            author=self.name,
            branch=ctx.branch,
            content=Content(role="model", parts=[Part(text=self._answer(result, remembers))]),
        )

    def _thread(self, ctx: InvocationContext) -> str:
        """The thread's id: a session's id is unique only for one user of one app, and agents may share a checkpointer.

        As JSON, so that no two lists of ids give the same text. A deleted session's successor has another first event.
        """
        session = ctx.session
        first = session.events[0].id if session.events else ""
        return json.dumps([session.app_name, session.user_id, session.id, self.name, first])

    def _opening(self) -> list[tuple[str, str]]:
        return [("system", self.instruction)] if self.instruction else []

    async def _call(self, name: str, *args: object) -> Any:
        """Call the asynchronous method, or, if the graph has none, the synchronous one in a thread."""
        own = getattr(self.graph, f"a{name}", None)
        return await own(*args) if own is not None else await asyncio.to_thread(getattr(self.graph, name), *args)

    def _answer(self, result: object, remembers: bool) -> str:
        if isinstance(result, dict) and (asked := result.get("__interrupt__")):
            if not remembers:
                raise ModelError(
                    f"the graph of agent {self.name!r} called interrupt() and has no checkpointer, so that it cannot "
                    f"be resumed: compile it with one, builder.compile(checkpointer=...)"
                )
            return "\n".join(_question(one) for one in asked)
        messages = result.get("messages") if isinstance(result, dict) else None
        if not messages:
            raise ModelError(f"the graph of agent {self.name!r} returned no `messages`: its state needs that key")
        last = messages[-1]
        if _role(last) in ("user", "human"):
            raise ModelError(f"the graph of agent {self.name!r} ended without an answer to the user's message")
        content = last.get("content") if isinstance(last, dict) else getattr(last, "content", last)
        if isinstance(content, list):  # blocks of several kinds
            return "".join(b if isinstance(b, str) else str(b.get("text", "")) for b in content)
        return str(content)


def _role(message: object) -> object:
    return message.get("role", message.get("type")) if isinstance(message, dict) else getattr(message, "type", None)


def _messages(state: object) -> object:
    """The messages that the graph's checkpointer holds for a thread."""
    return (getattr(state, "values", None) or {}).get("messages")


def _interrupts(state: object) -> list[object]:
    """The questions that a thread waits for."""
    return [one for task in getattr(state, "tasks", None) or () for one in getattr(task, "interrupts", None) or ()]


def _question(interrupt: object) -> str:
    value = getattr(interrupt, "value", interrupt)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _resuming(waiting: Sequence[object], answer: str) -> object:
    """What resumes a thread: the user's answer, to each question if there are several."""
    several = len(waiting) > 1
    resume = {getattr(one, "id", None): answer for one in waiting} if several else answer
    return import_module("langgraph.types").Command(resume=resume)


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
