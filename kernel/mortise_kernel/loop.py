"""The reason-act loop of one agent: ask the model, run the tools it calls, until it has a final answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import Any

from mortise_kernel import seam
from mortise_kernel.contracts.agent import Handover
from mortise_kernel.contracts.request import LlmRequest
from mortise_kernel.contracts.response import LlmResponse
from mortise_kernel.dispatch import dispatch
from mortise_kernel.errors import did_you_mean
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext
from mortise_kernel.lifecycle import Draft, implemented, model_round, on_model_error
from mortise_kernel.preparation import DONE, prepare
from mortise_kernel.run_config import StreamingMode
from mortise_kernel.types.content import FrozenContent, FunctionCall, thaw

Events = AsyncGenerator[Event, None]


async def reason_and_act(ctx: InvocationContext) -> Events:
    """Steps of one model call each, until an event is final, nothing was said, or the invocation ends (S0 §2.3)."""
    last: Event | None = None
    while last is None or not (last.partial or last.is_final_response()):
        last = None
        request, draft, position = LlmRequest(), Draft(), 0
        while position != DONE:
            position, reported = await prepare(ctx, request, position)
            for event in reported:
                yield event
                last = event
        if ctx.end_invocation:
            return
        if ctx.is_resumable and (waiting := _waiting(ctx)):
            for event in await _resume(ctx, request, waiting):
                yield event
                last = _latest(event, last)
            if last is None:
                return
            continue
        async with aclosing(_call_model(ctx, request, draft)) as responses:
            async for response in responses:
                for event in await _react(ctx, request, response, draft):
                    yield event
                    last = event
                if last is not None and not last.partial and (calls := last.get_function_calls()):
                    for event in await _run_tools(ctx, request, last, calls):
                        yield event
                        last = _latest(event, last)
        if last is None:
            return


def _latest(event: Event, before: Event | None) -> Event | None:
    """What counts as the latest event once `event` was yielded: of a handover, what the target said last."""
    return event.last or before if isinstance(event, Handover) else event


async def _react(
    ctx: InvocationContext, request: LlmRequest, response: LlmResponse, draft: Draft
) -> Sequence[Event]:
    """The events of one response: what the response chain reports, and the response itself where it says anything."""
    events: list[Event] = []
    for processor in ctx.composition.response_chain:
        if processor.applies_to is None or processor.applies_to(ctx.agent):
            events.extend(await processor.run(ctx, request, response) or ())
    if response.content is None and not response.error_code and not response.interrupted:
        return events
    event = _as_event(ctx, response, draft)
    calls = event.get_function_calls()
    if calls:
        _identify(event, calls, request)
    events.append(event)
    return events


async def _resume(ctx: InvocationContext, request: LlmRequest, waiting: Sequence[Event]) -> Iterable[Event]:
    """The results of calls that an interrupted invocation left open; none while one waits for the outside."""
    if any(map(ctx.should_pause_invocation, waiting)):
        return ()
    return await _run_tools(ctx, request, waiting[-1], waiting[-1].get_function_calls())


def _waiting(ctx: InvocationContext) -> list[Event]:
    """The last events of a resumed invocation on this branch, where they hold calls without results."""
    events = ctx.get_events(current_invocation=True, current_branch=True)[-2:]
    pending = events and (events[-1].get_function_calls() or any(map(ctx.should_pause_invocation, events)))
    return events if pending else []


async def _call_model(ctx: InvocationContext, request: LlmRequest, draft: Draft) -> AsyncGenerator[LlmResponse, None]:
    """The model's responses, each after the hooks have seen it (S0 §5)."""
    if (found := implemented(ctx, "before_model_callback")) is not None:
        early = await model_round(ctx, draft, "before_model_callback", found, {"llm_request": request})
        if early is not None:
            yield early
            return
    agent: Any = ctx.agent
    labels = request.config.labels
    if labels is None:
        request.config.labels = {"adk_agent_name": agent.name}
    else:
        labels.setdefault("adk_agent_name", agent.name)
    model = agent.model_for(ctx)
    ctx.increment_llm_call_count()
    streaming = ctx.run_config.streaming_mode is StreamingMode.SSE
    async with aclosing(model.generate_content_async(request, stream=streaming)) as responses:
        failed = False
        while not failed:
            try:
                response = await anext(responses)
            except StopAsyncIteration:
                return
            except Exception as error:
                failed = True
                answer = await on_model_error(ctx, request, error, draft)
                if answer is None:
                    raise
                response = answer
            if response.__class__ is not LlmResponse:
                response = LlmResponse.model_validate(response)
            if response.content.__class__ is FrozenContent:  # the same object was yielded, and committed, before
                response = response.model_copy(update={"content": thaw(response.content)})  # type: ignore[arg-type]
            if (found := implemented(ctx, "after_model_callback")) is not None:
                replaced = await model_round(ctx, draft, "after_model_callback", found, {"llm_response": response})
                response = response if replaced is None else replaced
            yield response


_RARE = tuple(name for name in LlmResponse.field_names if name not in ("content", "partial"))
_rare_values = attrgetter(*_RARE)
_NOTHING_RARE = (None,) * len(_RARE)


def _as_event(ctx: InvocationContext, response: LlmResponse, draft: Draft) -> Event:
    event = Event(
        invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, content=response.content,
        partial=response.partial, actions=draft.take(),
    )  # fmt: skip
    event.isolation_scope = ctx.isolation_scope
    rare = _rare_values(response)
    if rare != _NOTHING_RARE:
        for name, value in zip(_RARE, rare, strict=True):
            setattr(event, name, value)
    return event


def _identify(event: Event, calls: Sequence[FunctionCall], request: LlmRequest) -> None:
    """Give each call an id, and note which calls are of long-running tools."""
    long_running = set()
    for call in calls:
        if not call.id:
            call.id = new_call_id()
        tool = request.tools_dict.get(call.name or "")
        if tool is not None and tool.is_long_running:
            long_running.add(call.id)
    event.long_running_tool_ids = long_running or None


def new_call_id() -> str:
    """An id for a call that the model gave none; its prefix tells that it is ours and not to be sent back."""
    return "adk-" + seam.new_id()


async def _run_tools(
    ctx: InvocationContext, request: LlmRequest, call_event: Event, calls: Sequence[FunctionCall]
) -> Iterable[Event]:
    """Dispatch `calls`; the event of their results among what the result chain adds, and a transfer, if asked."""
    results = await dispatch(ctx, calls, request.tools_dict)
    return () if results is None else await with_results(ctx, call_event, results)


async def with_results(ctx: InvocationContext, call_event: Event, results: Event) -> Iterable[Event]:
    """The event of tool results among what the result chain adds, and the transfer that a tool asked for."""
    actions = results.touched_actions
    if actions is None:  # nothing for the chain to act on
        return (results,)
    before: list[Event] = []
    after: list[Event] = []
    for processor in ctx.composition.result_chain:
        added = await processor.run(ctx, call_event, results)
        if added:
            (after if processor.follows else before).extend(added)
    return _in_order(ctx, before, results, after)


def _in_order(ctx: InvocationContext, before: list[Event], results: Event, after: list[Event]) -> Iterator[Event]:
    """Lazily, so that a transfer to an unknown agent fails only once the results are committed."""
    yield from before
    yield results
    yield from after
    actions = results.touched_actions
    if actions is not None and actions.transfer_to_agent:
        yield _transfer(ctx, actions.transfer_to_agent)


def _transfer(ctx: InvocationContext, name: str) -> Handover:
    root = ctx.agent.root_agent
    target = root.find_agent(name)
    if target is None:
        names = _names(root)
        raise ValueError(
            f"Agent {name} not found in the agent tree. Available agents: {', '.join(names)}{did_you_mean(name, names)}"
        )
    return Handover(target, ctx)


def _names(agent: Any) -> list[str]:
    return [agent.name, *(name for child in agent.sub_agents for name in _names(child))]
