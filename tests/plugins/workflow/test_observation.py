"""What plugins hear of the nodes of a graph."""

from __future__ import annotations

from typing import Any

import pytest

from newel import Agent
from newel.testing import ScriptedModel
from newel.workflow import FunctionNode, JoinNode, Workflow, node


def test_each_run_is_an_operation_within_what_ran_it(watched: Any) -> None:
    def first(node_input: Any) -> str:
        return "f"

    async def second(node_input: Any) -> str:
        return "s"

    @node(rerun_on_resume=True)
    async def driver(ctx: Any) -> Any:
        return await ctx.run_node(first)

    inner = Workflow(name="inner", edges=[("START", Agent(name="poet", model=ScriptedModel(["a poem"])))])
    talk, watch = watched
    talk(Workflow(name="wf", edges=[("START", (first, second, driver), JoinNode(name="join"), inner)])).say("go")
    assert sorted(watch.ended) == sorted(
        [
            ("node wf", "first", "stop"),
            ("node wf", "second", "stop"),
            ("node driver", "first", "stop"),
            ("node wf", "driver", "stop"),
            ("node wf", "join", "stop"),
            ("node inner", "poet", "stop"),
            ("node wf", "inner", "stop"),
            ("invocation app", "wf", "stop"),
        ]
    )


def test_a_failure_ends_the_operations_that_it_passes(watched: Any) -> None:
    def bad(node_input: Any) -> None:
        raise LookupError("gone")

    talk, watch = watched
    with pytest.raises(LookupError):
        talk(Workflow(name="wf", edges=[("START", FunctionNode(bad))])).say("go")
    assert watch.ended == [("node wf", "bad", "exception"), ("invocation app", "wf", "exception")]
