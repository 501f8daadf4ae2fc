"""agent_calls: the sessions in which agents worked as tools go away once their results are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from mortise_kernel import BaseAgent, Epilogue, InvocationContext, hookimpl

_ENDED = "agent_calls.ended"


async def clean_up(ctx: InvocationContext, error: BaseException | None) -> None:
    """Delete the sessions of calls whose results are stored, also of those that an earlier run left behind."""
    if not ctx.resumed and _ENDED not in ctx.notes:
        return
    ended: list[tuple[str, str]] = list(ctx.notes.get(_ENDED, ()))
    results = Counter(
        response.id
        for event in ctx.get_events(current_invocation=True)
        if event.author != "user"
        for response in event.get_function_responses()
    )
    if ctx.resumed:
        ended += _left_behind(ctx, results)
    where = {"app_name": ctx.app_name, "user_id": ctx.user_id}
    for session_id in dict.fromkeys(session_id for call_id, session_id in ended if results[call_id]):
        await ctx.session_service.delete_session(**where, session_id=session_id)


def _left_behind(ctx: InvocationContext, results: Counter[str | None]) -> Iterator[tuple[str, str]]:
    """The sessions that calls of agents had, each with its call's id."""
    calls: Any = import_module("mortise.tools.agent_call")
    names = {tool.name for agent in _tree(ctx.agent.root_agent) for tool in calls.agent_tools(agent)}
    for event in ctx.get_events(current_invocation=True) if names else ():
        for call in event.get_function_calls():
            if call.name in names:
                for earlier in range(results[call.id]):
                    yield str(call.id), calls.made_session_id(ctx, str(call.id), earlier)


def _tree(agent: BaseAgent) -> Iterator[BaseAgent]:
    yield agent
    for child in agent.sub_agents:
        yield from _tree(child)


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `agent_calls`."""
    return [Epilogue(name="agent_calls", run=clean_up)]
