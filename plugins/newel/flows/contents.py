"""contents: the conversation so far, as the agent's model sees it (docs/reference/behaviour.md#the-conversation)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.agents.opening import Opening, mode_of
from newel.flows import live_history
from newel.flows.history import History, Reading, assemble, outgoing
from newel.flows.llm_agents import LlmContext, agent_processor
from newel.flows.rearrangement import answered_ids, call_ids
from newel.flows.run_lengths import ends_here
from newel.flows.visibility import is_from_other_agent, is_visible
from newel.models.wire.cache_marks import CONTINUES
from newel.turns.steering import is_steering, note
from newel_kernel import Event, InvocationContext, Key, LlmRequest, RequestProcessor, hookimpl
from newel_types import Content, SharedContents

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.flows.llm_agents import RequestStep

#: Agent, branch, scope, and how it reads -> the conversation that it sees.
_HISTORIES = Key[dict[tuple[str, str | None, str | None, Reading], History]]("histories", dict)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the conversation."""

    #: Fence what other agents said and did as quotations, so that it does not read as the user's words.
    fence_quotations: bool = False
    #: Hide from models the user's responses to calls that did not ask the user and that have their tools' results.
    asked_answers_only: bool = False
    #: Keep what stands between a call and a late response to it: the call and the response are moved behind it.
    keep_meanwhile: bool = False


@cache
def processor(reading: Reading) -> Callable[[LlmAgent], RequestStep]:
    """Replaces the contents with the conversation; contents of the instructions go before the user's last messages."""

    def for_agent(agent: LlmAgent) -> RequestStep:
        # An agent of another type that asks for the conversation sees it whole.
        name, whole = agent.name, getattr(agent, "include_contents", "default") == "default"

        def run(ctx: LlmContext, request: LlmRequest) -> Awaitable[list[Event]] | None:
            untold: list[Event] = []
            added = list.copy(request.contents)
            if ctx.opening is not None:
                contents = _opened(ctx, ctx.opening, reading)
                if mode_of(ctx) == "single_turn" and (
                    not agent.tools or ends_here(ctx, ctx.opening, contents.frozen())
                ):
                    request.stash[CONTINUES] = False
            elif not whole:
                contents = SharedContents(_current_turn(ctx, ctx.session.events, reading, untold))
            elif ctx.mode is None:
                history = history_of(ctx, name, reading)
                contents = SharedContents(history.update(ctx.session.events))
                if history.untold:
                    untold = [*history.untold.values()]
                    contents += [outgoing(event.content) for event in untold if event.content is not None]
            else:
                events = live_history.quoted(ctx.session.events, name, fence=reading.fence)
                spoken = assemble(events, name, ctx.branch, ctx.isolation_scope, reading)
                contents = SharedContents([outgoing(event.content) for event in spoken if event.content is not None])
            if added:
                at = insertion_point(contents)
                contents[at:at] = added
            request.contents = contents
            return _telling(ctx, untold) if untold else None

        return run

    return for_agent


async def _telling(ctx: InvocationContext, messages: list[Event]) -> list[Event]:
    return [note(ctx, messages)]


def reading_of(own: Settings) -> Reading:
    """How the settings say that events are read."""
    return Reading(fence=own.fence_quotations, asked_only=own.asked_answers_only, keep_meanwhile=own.keep_meanwhile)


def history_of(ctx: InvocationContext, name: str, reading: Reading) -> History:
    """What the agent of this name sees of the session, on the branch and in the scope of the context."""
    by_view = ctx.session.stash[_HISTORIES]
    key = (name, ctx.branch, ctx.isolation_scope, reading)
    history = by_view.get(key)
    if history is None:
        history = by_view[key] = History(*key)
    return history


def _opened(ctx: LlmContext, opening: Opening, reading: Reading) -> SharedContents:
    """The conversation of an isolated run: its opening, then what was said in it."""
    agent = ctx.agent
    events = opening.own_events(ctx.session.events)
    turn_contents: list[Content] = []
    if agent.include_contents == "none":
        turn_contents = _current_turn(ctx, events, reading, [])
    if not turn_contents:
        history = opening.histories.get(agent.name)
        if history is None:
            history = History(agent.name, ctx.branch, ctx.isolation_scope, reading)
            opening.histories[agent.name] = history
        turn_contents = history.update(events)
    return SharedContents([opening.content, *turn_contents])


def _current_turn(
    ctx: InvocationContext, events: Sequence[Event], reading: Reading, untold: list[Event]
) -> list[Content]:
    """The contents from the latest message of the user or of another agent on; those not told yet are in `untold`.

    Specified in docs/reference/behaviour.md#the-conversation.
    """
    name, branch, scope = ctx.agent.name, ctx.branch, ctx.isolation_scope
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if is_steering(event) and event.invocation_id != ctx.invocation_id:
            continue  # it came amid the turn
        if is_visible(event, branch, scope) and (event.author == "user" or is_from_other_agent(event, name)):
            turn = assemble(_with_calls(ctx, events, index), name, branch, scope, reading, untold)
            return [outgoing(e.content) for e in (*turn, *untold) if e.content is not None]
    return []


def _with_calls(ctx: InvocationContext, events: Sequence[Event], index: int) -> Sequence[Event]:
    """The events from `index` on, after the agent's earlier calls that the last one answers: an approval came late."""
    tail = events[index:]
    last = next(event for event in reversed(tail) if is_visible(event, ctx.branch, ctx.isolation_scope))
    ids = set(answered_ids(last)).difference(*map(call_ids, tail))
    if not ids or is_from_other_agent(last, ctx.agent.name):  # what others did is quoted
        return tail
    calls = (one for one in events[:index] if one.author == ctx.agent.name and not ids.isdisjoint(call_ids(one)))
    return [*calls, *tail]


def insertion_point(contents: SharedContents) -> int:
    """Where instruction contents go: before the user's messages at the end, so that they read as one turn."""
    index = len(contents)
    for content in reversed(contents.frozen()):
        if content.role != "user" or any(p.function_response is not None for p in content.parts or ()):
            break
        index -= 1
    return index


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors(settings: Mapping[str, Settings]) -> list[RequestProcessor]:
    """The processor `contents`."""
    return [agent_processor("contents", processor(reading_of(settings["contents"])))]
