"""confirmation: asks the user for the approval or the input that a tool call needs, and then runs the call.

Specified in docs/reference/behaviour.md#questions. What runs is the call that the request names, with the arguments
that the user was asked about; only an explicit edit in the answer changes them. An answer that does not fit is refused
with an error result, and one request has one answer.
"""

from __future__ import annotations

from collections.abc import Awaitable
from operator import attrgetter

from newel import flows
from newel.contexts.stash_keys import ASKING
from newel.flows.llm_agents import LlmContext, request_processor
from newel.questions.precedence import MESSAGES
from newel_kernel import Event, InvocationContext, LlmRequest, RequestProcessor, ResultProcessor, hookimpl


async def after(ctx: InvocationContext, call_event: Event, results: Event) -> list[Event] | None:
    """Ask the user about the calls whose tools ask for it: before the results, one event for each kind of question."""
    actions = results.touched_actions
    events = []
    if actions is not None and actions.requested_tool_confirmations:
        events.append(flows.ask_for_approval(ctx, call_event, actions.requested_tool_confirmations))
    if ASKING in ctx.stash:
        events.append(flows.ask_for_input(ctx, call_event, results))
    return [event for event in events if event is not None] or None


def before(ctx: LlmContext, request: LlmRequest) -> Awaitable[list[Event]] | None:
    """Run what the user has approved, and refuse what does not fit; before the model is asked again."""
    if MESSAGES not in ctx.stash and not ctx.resumed:
        return None  # the run began with a message that answers nothing
    return flows.act_on_answers(ctx)


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `confirmation`."""
    return [request_processor("confirmation", before, applies_to=attrgetter("tools"), on_continuation=True)]


@hookimpl
def register_result_processors() -> list[ResultProcessor]:
    """The result processor `confirmation`, before the results."""
    return [ResultProcessor(name="confirmation", run=after, applies_to=attrgetter("touched_actions"))]
