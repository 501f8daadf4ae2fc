"""agent_calls: limits how deep agents run as tools of each other, and deletes the sessions of ended calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable

from pydantic import BaseModel, Field

from newel.contexts.invocation_context import full_invocation
from newel.questions.provisional_results import is_provisional
from newel_kernel import Epilogue, InvocationContext, Json, Key, hookimpl
from newel_types import deferred

PLUGIN = "agent_calls"

#: The calls that have ended: (call id, session id).
ENDED: Key[list[tuple[str, str]]] = Key("ended agent calls", list)
#: In the invocation of an agent that runs as a tool: how many agents run around it.
DEPTH: Key[int] = Key("depth of agent calls")


#: Loads with the first agent that runs as a tool.
_derived_session_id = deferred("newel.tools.agent_call", "derived_session_id")


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of agents as tools."""

    #: The greatest depth: an agent that is a tool of the invocation's agent is at depth 1, its own agent tools at 2.
    max_depth: int = Field(default=10, ge=1)


def results_of(ctx: InvocationContext) -> Counter[str | None]:
    """How many results each call id has had in this invocation: a model may use an id again."""
    return Counter(
        response.id
        for event in full_invocation(ctx).get_events(current_invocation=True)
        if event.author != "user" and not is_provisional(event)
        for response in event.get_function_responses()
    )


def clean_up(ctx: InvocationContext, error: BaseException | None) -> Awaitable[None] | None:
    """Delete the sessions of calls whose results are stored, including those that an earlier run left behind."""
    return _delete(ctx) if ctx.resumed or ENDED in ctx.stash else None


async def _delete(ctx: InvocationContext) -> None:
    ended = ctx.stash[ENDED].copy()
    results = results_of(ctx)
    if ctx.resumed:
        ended += [one async for one in _leftovers(ctx, results)]
    where: Json = {"app_name": ctx.app_name, "user_id": ctx.user_id}
    for session_id in dict.fromkeys(session_id for call_id, session_id in ended if results[call_id]):
        await ctx.session_service.delete_session(**where, session_id=session_id)


async def _leftovers(ctx: InvocationContext, results: Counter[str | None]) -> AsyncIterator[tuple[str, str]]:
    """The sessions that still exist of calls with results, each with its call's id."""
    derived_session_id = _derived_session_id()
    where: Json = {"app_name": ctx.app_name, "user_id": ctx.user_id}
    for event in full_invocation(ctx).get_events(current_invocation=True):
        long_running = event.long_running_tool_ids or ()
        for call in event.get_function_calls():
            for earlier in range(results[call.id] if call.id not in long_running else 0):
                session_id = derived_session_id(ctx, str(call.id), earlier)
                if await ctx.session_service.get_session(**where, session_id=session_id) is not None:
                    yield str(call.id), session_id


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `agent_calls`."""
    return [Epilogue(name="agent_calls", run=clean_up)]
