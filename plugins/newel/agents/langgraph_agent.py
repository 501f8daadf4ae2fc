"""LangGraphAgent: a compiled LangGraph graph as an agent."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Sequence
from importlib import import_module
from itertools import takewhile
from typing import Any

from pydantic import field_validator

from newel.agents import base_agent
from newel_kernel import Event, InvocationContext, LlmRequest, ModelError, RequestProcessor
from newel_types import Content, Part

#: The processor that puts the conversation together, as every agent's model sees it.
_CONVERSATION = "contents"
_SOUNDS = ("audio/", "video/")
_CLASSES = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage"}


class LangGraphAgent(base_agent.BaseAgent):
    """Sends the conversation, as an agent's model would see it, to `graph` and yields its last message.

    The graph's state has `messages`. A graph with a checkpointer remembers the conversation itself, in a thread of
    its own for each app, user, session and agent, and gets only the user's latest messages; after a rewind or a fork a
    new thread begins with the conversation that stands. `instruction` is the first message of a new thread. What a
    graph asks with `interrupt()` is the agent's answer, and the user's next message resumes it.
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
        request = LlmRequest()
        told = ctx.composition.registry.find(RequestProcessor, _CONVERSATION).run(ctx, request)
        for event in (await told if told is not None else None) or ():
            yield event
        contents = list.copy(request.contents)
        if waiting := _interrupts(state):
            given: object = _resuming(waiting, "\n".join(filter(None, map(_text, _latest(contents)))))
        else:
            known = bool(_messages(state))
            messages = [] if known else self._opening()
            messages += [_message(content) for content in (_latest(contents) if known else contents) if content.parts]
            given = {"messages": [message for message in messages if message is not None]}
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
        A rewind takes back what the thread remembers, so that another one begins.
        """
        session = ctx.session
        first = session.events[0].id if session.events else ""
        ids = [session.app_name, session.user_id, session.id, self.name, first]
        return json.dumps(ids + [one.id for one in session.events if _is_rewind(one)][-1:])

    def _opening(self) -> list[object]:
        return [_made("system", self.instruction)] if self.instruction else []

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


def _is_rewind(event: Event) -> bool:
    actions = event.touched_actions
    return actions is not None and bool(actions.rewind_before_invocation_id)


def _text(content: Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text and not part.thought)


def _latest(contents: Sequence[Content]) -> list[Content]:
    """The user's messages at the end."""
    return list(takewhile(lambda content: content.role != "model", reversed(contents)))[::-1]


def _message(content: Content) -> object | None:
    """A message of the texts and the media in a content; None if it has none."""
    media = [block for part in content.parts or () if (block := _block(part)) is not None]
    text = _text(content)
    role = "assistant" if content.role == "model" else "user"
    if media:
        words: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
        return _made(role, words + media)
    return _made(role, text) if text else None


def _block(part: Part) -> dict[str, object] | None:
    """A block of LangChain for a medium."""
    blob, file = part.inline_data, part.file_data
    if blob is not None and blob.data is not None:
        mime = blob.mime_type or "application/octet-stream"
        data = base64.b64encode(blob.data).decode()
        if mime.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
        kind = mime.partition("/")[0] if mime.startswith(_SOUNDS) else "file"
        return {"type": kind, "base64": data, "mime_type": mime}
    if file is not None and file.file_uri:
        if (file.mime_type or "").startswith("image/"):
            return {"type": "image_url", "image_url": {"url": file.file_uri}}
        return {"type": "file", "url": file.file_uri, "mime_type": file.mime_type}
    return None


def _made(role: str, content: str | list[dict[str, object]]) -> object:
    """A LangChain message; without LangChain, the dict that its reducers also accept."""
    try:
        messages = import_module("langchain_core.messages")
    except ModuleNotFoundError:
        return {"role": role, "content": content}
    return getattr(messages, _CLASSES[role])(content=content)
