"""Routing: what the conversation is in, and who answers."""

from __future__ import annotations

from typing import Any

import pytest

from newel import Agent
from newel.turns.conversations import open_scope
from newel.turns.routing import choose_agent
from newel_kernel import Event, EventActions, Log
from newel_types import Content, FunctionCall, FunctionResponse, Part


def said(author: str, scope: str | None = None, invocation: str = "e-1", **fields: Any) -> Event:
    return Event(author=author, message="words", isolation_scope=scope, invocation_id=invocation, **fields)


def asks(author: str, call_id: str, scope: str | None = None) -> Event:
    call = FunctionCall(id=call_id, name="worker", args={})
    content = Content(role="model", parts=[Part(function_call=call)])
    return Event(author=author, content=content, isolation_scope=scope, invocation_id="e-1")


def brings(call_id: str, scope: str | None = None) -> Event:
    response = FunctionResponse(id=call_id, name="worker", response={})
    content = Content(role="user", parts=[Part(function_response=response)])
    return Event(author="user", content=content, isolation_scope=scope, invocation_id="e-1")


def rewind(invocation: str) -> Event:
    return Event(author="user", actions=EventActions(rewind_before_invocation_id=invocation), invocation_id="e-9")


TASK = [said("user"), asks("root", "c1"), said("worker", "c1")]
NESTED = [said("user"), asks("root", "c1"), asks("worker", "c2", "c1"), said("inner", "c2")]


@pytest.mark.parametrize(
    ("events", "scope"),
    [
        ([], None),
        ([said("user"), said("root")], None),
        (TASK, "c1"),
        ([*TASK, said("user", "c1", "e-2")], "c1"),
        ([*TASK, Event(author="root", invocation_id="e-1")], "c1"),
        ([*TASK, said("beside")], "c1"),
        ([*TASK, said("user", None, "e-2"), said("root", None, "e-2")], None),
        ([*TASK, brings("c1")], None),
        ([*TASK, brings("c1"), said("root")], None),
        ([*TASK, said("worker", "c1", output=0)], None),
        (NESTED, "c2"),
        ([*NESTED, brings("c2", "c1")], "c1"),
        ([*NESTED, brings("c2", "c1"), brings("c1")], None),
        ([said("user", None, "e-0"), said("root", None, "e-0"), *TASK, rewind("e-1")], None),
        ([*TASK, said("user", "c1", "e-2"), brings("c1"), rewind("e-2")], "c1"),
    ],
)
def test_the_open_scope(events: list[Event], scope: str | None) -> None:
    for event in events:
        if event.get_function_responses() and any(e.invocation_id == "e-2" for e in events):
            event.invocation_id = "e-2"
    assert open_scope(Log(events)) == scope


def tree() -> Agent:
    inner = Agent(name="inner", model="test:", mode="task")
    chats_inside = Agent(name="chats_inside", model="test:")
    worker = Agent(name="worker", model="test:", mode="task", sub_agents=[inner, chats_inside])
    echo = Agent(name="echo", model="test:", mode="single_turn")
    other = Agent(name="other", model="test:", disallow_transfer_to_parent=True, sub_agents=[echo])
    return Agent(name="root", model="test:", sub_agents=[worker, other])


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([*TASK, said("user", "c1")], "root"),
        ([*NESTED, said("user", "c2")], "root"),
        ([said("chats_inside", "c1"), said("user", "c1")], "root"),
        ([asks("inner", "c3", "c2"), brings("c3", "c2")], "root"),
        ([asks("echo", "c3"), brings("c3")], "other"),
        ([said("other"), said("echo"), said("user")], "root"),
        ([asks("other", "c1"), said("echo", "c1"), said("user", "c1")], "other"),
    ],
)
def test_a_delegate_s_turns_go_to_the_agent_that_it_works_for(events: list[Event], name: str) -> None:
    assert choose_agent(tree(), Log(events)).name == name
