"""The reason-act loop of one agent: ask the model, run the tools it calls, until it has a final answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mortise_kernel import seam
from mortise_kernel.contracts.agent import Handover
from mortise_kernel.contracts.request import LlmRequest
from mortise_kernel.contracts.response import LlmResponse
from mortise_kernel.dispatch import dispatch
from mortise_kernel.errors import did_you_mean
from mortise_kernel.events import Event
from mortise_kernel.invocation import InvocationContext
from mortise_kernel.lifecycle import Draft, after_model, before_model, on_model_error
from mortise_kernel.preparation import prepare
from mortise_kernel.run_config import StreamingMode
from mortise_kernel.types.content import FrozenContent, thaw

Events = AsyncGenerator[Event, None]


async def reason_and_act(ctx: InvocationContext) -> Events:
    """Steps until an event is final, nothing was said, or the invocation ends (S0 §2.3)."""
    while True:
        last: Event | None = None
        async with aclosing(step(ctx)) as events:
            async for event in events:
                yield event
                last = event if event.__class__ is not Handover else event.last or last  # type: ignore[attr-defined]
        if last is None or last.partial or last.is_final_response():
            return


async def step(ctx: InvocationContext) -> Events:
    """One model call with what comes before and after it (S0 §2.5)."""
    request = LlmRequest()
    async for event in prepare(ctx, request):
        yield event
    if ctx.end_invocation:
        return
    if ctx.is_resumable:
        pending = _unanswered(ctx)
        if pending is not None:
            if not any(map(ctx.should_pause_invocation, pending)) and pending[-1].get_function_calls():
                async for event in _run_tools(ctx, request, pending[-1]):
                    yield event
                return
            if any(map(ctx.should_pause_invocation, pending)):
                return
    draft = Draft()
    async with aclosing(_call_model(ctx, request, draft)) as responses:
        async for response in responses:
            async for event in _handle(ctx, request, response, draft):
                yield event


def _unanswered(ctx: InvocationContext) -> list[Event] | None:
    """The last two events of this invocation and branch, where one of them may wait for something."""
    events = ctx.get_events(current_invocation=True, current_branch=True)[-2:]
    return events if events and (events[-1].get_function_calls() or any(e.long_running_tool_ids for e in events)) else None


async def _call_model(ctx: InvocationContext, request: LlmRequest, draft: Draft) -> AsyncGenerator[LlmResponse, None]:
    """The model's responses, each after the hooks have seen it (S0 §5)."""
    early = await before_model(ctx, request, draft)
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
                response = response.model_copy(update={"content": thaw(response.content)})
            yield await after_model(ctx, response, draft)


async def _handle(ctx: InvocationContext, request: LlmRequest, response: LlmResponse, draft: Draft) -> Events:
    """The events of one response: what the response chain adds, the response itself, its tool calls (S0 §6)."""
    for processor in ctx.composition.response_chain:
        if processor.applies_to is None or processor.applies_to(ctx.agent):
            for event in await processor.run(ctx, request, response) or ():
                yield event
    if response.content is None and not response.error_code and not response.interrupted:
        return
    event = _as_event(ctx, request, response, draft)
    yield event
    if not event.partial and event.get_function_calls():
        async for result in _run_tools(ctx, request, event):
            yield result


def _as_event(ctx: InvocationContext, request: LlmRequest, response: LlmResponse, draft: Draft) -> Event:
    event = Event(
        invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch,
        isolation_scope=ctx.isolation_scope, content=response.content, partial=response.partial,
        model_version=response.model_version, grounding_metadata=response.grounding_metadata,
        turn_complete=response.turn_complete, finish_reason=response.finish_reason,
        error_code=response.error_code, error_message=response.error_message, interrupted=response.interrupted,
        custom_metadata=response.custom_metadata, usage_metadata=response.usage_metadata,
        live_session_resumption_update=response.live_session_resumption_update,
        live_session_id=response.live_session_id, go_away=response.go_away,
        input_transcription=response.input_transcription, output_transcription=response.output_transcription,
        avg_logprobs=response.avg_logprobs, logprobs_result=response.logprobs_result,
        cache_metadata=response.cache_metadata, citation_metadata=response.citation_metadata,
        interaction_id=response.interaction_id, actions=draft.take(),
    )  # fmt: skip
    calls = event.get_function_calls()
    if calls:
        long_running = set()
        for call in calls:
            if not call.id:
                call.id = new_call_id()
            tool = request.tools_dict.get(call.name or "")
            if tool is not None and tool.is_long_running:
                long_running.add(call.id)
        event.long_running_tool_ids = long_running or None
    return event


def new_call_id() -> str:
    """An id for a call that the model gave none; its prefix tells that it is ours and not to be sent back."""
    return "adk-" + seam.new_id()


async def _run_tools(ctx: InvocationContext, request: LlmRequest, call_event: Event) -> Events:
    """Dispatch the calls of an event; the result chain's events around the results; then a transfer, if asked."""
    results = await dispatch(ctx, call_event.get_function_calls(), request.tools_dict)
    if results is None:
        return
    async for event in with_results(ctx, call_event, results):
        yield event


async def with_results(ctx: InvocationContext, call_event: Event, results: Event) -> Events:
    """The event of tool results among what the result chain adds, and the transfer that a tool asked for."""
    after: list[Event] = []
    for processor in ctx.composition.result_chain:
        added = await processor.run(ctx, call_event, results) or ()
        if processor.follows:
            after.extend(added)
            continue
        for event in added:
            yield event
    yield results
    for event in after:
        yield event
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
