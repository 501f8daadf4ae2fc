"""Agents of a tree in a run: what they lack, and whose the events of their callbacks are."""

from __future__ import annotations

from typing import Any

import pytest

from newel.agents import BaseAgent as CallingBackAgent
from newel.agents import ParallelAgent, RunConfig
from newel.agents.run_config import ToolThreadPoolConfig
from newel_kernel import BaseAgent, Event, FeatureUnavailableError, InvocationContext
from newel_types import Content, Part


@pytest.mark.parametrize("field", [{"support_cfc": True}, {"tool_thread_pool_config": ToolThreadPoolConfig()}])
def test_a_field_that_nobody_reads_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(FeatureUnavailableError, match=next(iter(field))):
        RunConfig(**field)
    assert RunConfig(support_cfc=False, tool_thread_pool_config=None).support_cfc is False


def test_an_agent_that_does_nothing_says_what_it_lacks(talk: Any) -> None:
    with pytest.raises(NotImplementedError, match="BaseAgent does not implement _run_async_impl"):
        talk(BaseAgent(name="idle")).say("tea")


class Quiet(CallingBackAgent):
    """Says nothing between its callbacks."""

    async def _run_async_impl(self, ctx: InvocationContext) -> Any:
        return
        yield


def test_what_callbacks_add_belongs_to_the_invocation_and_the_branch_of_their_agent(talk: Any) -> None:
    def answer(callback_context: Any) -> Content:
        return Content(role="model", parts=[Part(text="tea")])

    agent = ParallelAgent(
        name="both",
        sub_agents=[
            Quiet(name="early", before_agent_callback=answer),
            Quiet(name="late", after_agent_callback=answer),
        ],
    )
    conversation = talk(agent)
    events: list[Event] = conversation.say("tea")
    assert {(event.author, event.branch) for event in events} == {("early", "both.early"), ("late", "both.late")}
    assert {event.invocation_id for event in events} == {conversation.session.events[0].invocation_id}
