"""The reason-act loop of one agent: ask the model, run the tools it calls, until it has a final answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel_kernel._internal import seam
from newel_kernel._internal.contracts.response import LlmResponse
from newel_kernel._internal.dispatch import Tools, dispatch
from newel_kernel._internal.events import Event
from newel_kernel._internal.invocation import OPEN_CALLS, InvocationContext
from newel_kernel._internal.lifecycle import Draft, model_round
from newel_kernel._internal.observation import current_operation
from newel_kernel._internal.preparation import DONE, Plan, prepare
from newel_kernel._internal.run_config import StreamingMode
from newel_types import FrozenContent, FunctionCall, deep_copy, thaw

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.model_agent import ModelAgent
    from newel_kernel._internal.contracts.request import LlmRequest

Events = AsyncGenerator[Event, None]
Responses = AsyncGenerator[LlmResponse, None]


async def reason_and_act(ctx: InvocationContext) -> Events:  # noqa: C901 - the whole loop, on one screen
    """Run steps of one model call each, until an event is final, a step has none, or the invocation ends.

    Specified in docs/reference/behaviour.md#the-loop.
    """
    agent: ModelAgent = ctx.agent  # type: ignore[assignment]
    turns, resuming, new_request = ctx.composition.turns, ctx.resumed, agent.__newel__.new_request
    while True:
        last: Event | None = None
        plan, request, position = Plan.of(ctx), new_request(), 0
        draft = Draft() if plan.hooked else None
        while position != DONE:
            position, reported = await prepare(ctx, plan, request, position)
            for event in reported:
                yield event
                last = event
        if ctx.end_invocation:
            return
        settled = last is not None and last.actions.skip_summarization
        finished = await turns.interrupted(ctx, request.tools_dict) if resuming else ()
        resuming = False
        for event in finished:
            yield event
            last = event
        if settled or turns.waits(ctx):
            return
        if not finished:
            responses = await _call_model(ctx, plan, request, draft)
            try:
                async for response in responses:
                    events, calls = await _react(ctx, plan, request, _own(response), draft)
                    for event in events:
                        yield event
                        last = event
                    for event in await run_tools(ctx, request.tools_dict, events[-1], calls) if calls else ():
                        yield event
                        last = event
            except BaseException:  # an exhausted one is closed already, so this does what aclosing does and costs less
                await responses.aclose()
                raise
        if last is None or last.partial or last.is_final_response():
            return


async def _react(
    ctx: InvocationContext, plan: Plan, request: LlmRequest, response: LlmResponse, draft: Draft | None
) -> tuple[Sequence[Event], Sequence[FunctionCall]]:
    """Return the events of one response (the response chain's, then the response itself) and the calls to run.

    A chunk has no calls to run: they are not complete.
    """
    events: list[Event] = []
    for run in plan.response:
        if (reported := run(ctx, request, response)) is not None:  # else a plain function has run
            events.extend(await reported or ())
    if response.content is None and not response.error_code and not response.interrupted:
        return events, ()
    event, calls = answer_event(ctx, request, response, draft)
    events.append(event)
    return events, () if event.partial else calls


def answer_event(
    ctx: InvocationContext, request: LlmRequest, response: LlmResponse, draft: Draft | None
) -> tuple[Event, Sequence[FunctionCall]]:
    """The event of a response, and its calls, each with an id."""
    event = Event(
        ctx.invocation_id,
        ctx.agent.name,
        response.content,
        response.partial,
        None if draft is None else draft.take(),
        ctx.branch,
        ctx.isolation_scope,
    )
    event.model_version = response.model_version
    event.finish_reason = response.finish_reason
    event.custom_metadata = response.custom_metadata
    event.usage_metadata = response.usage_metadata
    event.sparse_values = response.sparse_values.copy()
    calls: Sequence[FunctionCall] = event.get_function_calls()
    return event, _identify(ctx, event, calls, request) if calls else calls


async def _call_model(ctx: InvocationContext, plan: Plan, request: LlmRequest, draft: Draft | None) -> Responses:
    """The model's responses, each after the hooks have seen it; without hooks the model's own generator.

    Specified in docs/reference/behaviour.md#calling-the-model.
    """
    agent: ModelAgent = ctx.agent  # type: ignore[assignment]
    if draft is not None and ctx.round_of("before_model_callback"):
        if request.config.tools:  # a declaration is made once for many requests; a hook's edits are for this one
            request.config.tools = deep_copy(request.config.tools)
        if (early := await model_round(ctx, draft, "before_model_callback", {"llm_request": request})) is not None:
            return only(early)
    model = agent.__newel__.model_for(ctx)
    ctx.increment_llm_call_count()
    streaming = ctx.run_config.streaming_mode is StreamingMode.SSE
    answers: Responses = model.generate_content_async(request, stream=streaming)
    if (parent := current_operation.get()) is not None:
        call = parent.child("model", request.model or model.model, ctx, model, request)
        call.facts["stream"] = streaming
        answers = call.stream(answers, lambda response: not getattr(response, "partial", None))
    if draft is None or not (ctx.round_of("on_model_error_callback") or ctx.round_of("after_model_callback")):
        return answers
    return _hooked(ctx, request, answers, draft)


async def only(answer: Any) -> AsyncGenerator[Any, None]:
    """A stream with one item: a hook's answer in place of many."""
    yield answer


def _own(response: Any) -> LlmResponse:
    """`response` as our own class; if its content was committed before, with a copy of the content."""
    own = response if response.__class__ is LlmResponse else LlmResponse.model_validate(response)
    if own.content.__class__ is FrozenContent:
        return own.model_copy(update={"content": thaw(own.content)})
    return own


async def _hooked(ctx: InvocationContext, request: LlmRequest, answers: Responses, draft: Draft) -> Responses:
    """The model's `answers` after the hooks have seen them, or an answer in place of its failure."""
    async with aclosing(answers) as responses:
        failed = False
        while not failed:
            try:
                response = await anext(responses)
            except StopAsyncIteration:
                return
            except Exception as error:
                failed = True
                failure = {"llm_request": request, "error": error}
                if (answer := await model_round(ctx, draft, "on_model_error_callback", failure)) is None:
                    raise
                response = answer
            response = _own(response)
            replaced = await model_round(ctx, draft, "after_model_callback", {"llm_response": response})
            response = response if replaced is None else replaced
            yield response


def _identify(
    ctx: InvocationContext, event: Event, calls: Sequence[FunctionCall], request: LlmRequest
) -> Sequence[FunctionCall]:
    """The event's calls, each with an id; those of long-running tools are noted on the event."""
    ids = {call.id for call in calls if call.id}
    if len(ids) < len(calls):
        # The model may yield the same object again.
        event.content = event.content.model_copy(deep=True)  # type: ignore[union-attr]  # it has calls
        calls = event.get_function_calls()
    long_running = set()
    for call in calls:
        if call.id in ids:
            ids.discard(call.id)  # a second call with the same id gets a new id
        else:
            call.id = ctx.call_id_prefix + seam.new_id()
        tool = request.tools_dict.get(call.name)  # type: ignore[arg-type]  # no tool is without a name
        if tool is not None and tool.is_long_running:
            long_running.add(call.id)
    event.long_running_tool_ids = long_running or None
    return calls


async def run_tools(
    ctx: InvocationContext, tools: Tools, call_event: Event, calls: Sequence[FunctionCall]
) -> Iterable[Event]:
    """Dispatch `calls`, then `settle` their results."""
    return await settle(ctx, call_event, calls, await dispatch(ctx, calls, tools))


async def settle(
    ctx: InvocationContext, call_event: Event, calls: Sequence[FunctionCall], results: Event | None
) -> Iterable[Event]:
    """The event of `results` among those that the result chain adds, then a transfer's, if a tool asked for one."""
    opened = ctx.stash.get(OPEN_CALLS, None)
    questions = [event for call in calls if (event := opened.pop(call.id, None))] if opened else []
    if results is None:
        return questions
    before: list[Event] = questions
    after: list[Event] = []
    for processor in ctx.composition.result_chain:
        if processor.applies_to is None or processor.applies_to(results):
            reported = processor.run(ctx, call_event, results)
            if reported is not None:  # else a plain function has run
                (after if processor.follows else before).extend(await reported or ())
    if not before and not after and results.touched_actions is None:
        return (results,)
    return _in_order(ctx, before, results, after)


def _in_order(ctx: InvocationContext, before: list[Event], results: Event, after: list[Event]) -> Iterator[Event]:
    """Lazy, because a transfer that fails must fail only after the results are committed."""
    yield from before
    yield results
    yield from after
    actions = results.touched_actions
    if actions is not None and actions.transfer_to_agent:
        yield from ctx.composition.turns.transfer(ctx, results)
