"""Nodes of a graph that get a credential and tell it: none of it is stored, sent or raised."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest

from newel import Context
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey, APIKeyIn
from newel.auth.credential_service import InMemoryCredentialService
from newel.types import Content, Part
from newel.workflow import FunctionNode, RetryConfig, Workflow
from newel_kernel import Event

KEY = "node-canary-123"
CONFIG = AuthConfig(
    auth_scheme=APIKey(in_=APIKeyIn.header, name="X-Key"),
    credential_key="weather",
    exchanged_auth_credential=AuthCredential(auth_type="apiKey", api_key=KEY),
)


async def save(node_input: Any, ctx: Context) -> str:
    await ctx.save_credential(CONFIG)
    return "ok"


async def key_of(ctx: Context) -> str:
    credential = await ctx.load_credential(CONFIG)
    assert credential is not None
    return str(credential.api_key)


async def returning(node_input: Any, ctx: Context) -> dict[str, Any]:
    key = await key_of(ctx)
    ctx.state["seen"] = f"Bearer {key}"
    return {"url": f"https://x.example/?key={key}"}


async def yielding(node_input: Any, ctx: Context) -> AsyncIterator[Any]:
    key = await key_of(ctx)
    ctx.state["seen"] = [f"Bearer {key}"]
    yield Event(content=Content(parts=[Part(text=f"asking with {key}")]), partial=True)
    yield Event(content=Content(parts=[Part(text=f"asked with {key}")]), state={"user:seen": key})
    yield {"key": key}


async def setting(node_input: Any, ctx: Context) -> None:
    ctx.state["seen"] = await key_of(ctx)


async def failing(node_input: Any, ctx: Context) -> str:
    key = await key_of(ctx)
    try:
        raise KeyError(f"no header {key}")
    except KeyError as error:
        raise RuntimeError(f"401 for https://x.example/?key={key}") from error


class Graph:
    def __init__(self, converse: Any, distribution: str, *nodes: Any) -> None:
        self.talk = converse(distribution, [], credential_service=InMemoryCredentialService())
        self.talk.runner.agent = Workflow(name="graph", edges=[("START", save, *nodes)])
        self.events: list[Event] = []

    async def run(self) -> None:
        async for event in self.talk.runner.run_async(user_id="ann", session_id="s", new_message="go"):
            self.events.append(event)

    def seen(self) -> str:
        session = self.talk.session
        return "".join([e.model_dump_json() for e in [*self.events, *session.events]]) + json.dumps(session.state)


@pytest.mark.parametrize("node", [returning, yielding, setting])
@pytest.mark.parametrize("nested", [False, True])
def test_what_a_node_gives_and_writes_holds_no_secret(converse: Any, node: Any, nested: bool) -> None:
    graph = Graph(converse, "standard", Workflow(name="inner", edges=[("START", node)]) if nested else node)
    asyncio.run(graph.run())
    assert KEY not in graph.seen()
    assert "<secret>" in json.dumps(graph.talk.session.state)


def test_the_next_node_gets_what_the_one_before_gave(converse: Any) -> None:
    got: list[Any] = []

    def taking(node_input: Any) -> None:
        got.append(node_input)

    graph = Graph(converse, "standard", returning, taking)
    asyncio.run(graph.run())
    assert got == [{"url": f"https://x.example/?key={KEY}"}]
    assert KEY not in graph.seen()


@pytest.mark.parametrize("retry", [None, RetryConfig(max_attempts=2, initial_delay=0.001, exceptions=["RuntimeError"])])
def test_what_a_node_raises_holds_no_secret(converse: Any, retry: RetryConfig | None) -> None:
    graph = Graph(converse, "standard", FunctionNode(func=failing, name="failing", retry_config=retry))
    with pytest.raises(RuntimeError, match="401 for https") as caught:
        asyncio.run(graph.run())
    assert KEY not in graph.seen()
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in str(caught.value.__context__)
    failures = [event for event in graph.events if event.error_code == "RuntimeError"]
    assert len(failures) == (1 if retry is None else 2)


def test_adk_shows_what_the_nodes_gave_as_the_recorded_releases_do(converse: Any) -> None:
    graph = Graph(converse, "adk", returning)
    asyncio.run(graph.run())
    assert KEY in graph.seen()
