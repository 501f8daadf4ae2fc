"""Function calls by their released names: ids, dispatch, and the requests that tools make to the user.

Specified in docs/reference/behaviour.md#running-tools.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from newel import auth, flows
from newel.contexts.call_ids import OURS as AF_FUNCTION_CALL_ID_PREFIX
from newel.contexts.call_ids import new_call_id as generate_client_function_call_id
from newel.contexts.invocation_context import InvocationContext
from newel.questions.answers import confirmed
from newel.questions.names import CONFIRMATION_CALL as REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
from newel.questions.names import CREDENTIAL_CALL as REQUEST_EUC_FUNCTION_CALL_NAME
from newel.questions.names import INPUT_CALL as REQUEST_INPUT_FUNCTION_CALL_NAME
from newel_kernel import BaseTool, Event, Json, ToolConfirmation, dispatch, merge_results
from newel_types import AuthConfig, Content, FunctionCall

__all__ = [
    "AF_FUNCTION_CALL_ID_PREFIX",
    "REQUEST_CONFIRMATION_FUNCTION_CALL_NAME",
    "REQUEST_EUC_FUNCTION_CALL_NAME",
    "REQUEST_INPUT_FUNCTION_CALL_NAME",
    "build_auth_request_event",
    "deep_merge_dicts",
    "find_event_by_function_call_id",
    "find_matching_function_call",
    "generate_auth_event",
    "generate_client_function_call_id",
    "generate_request_confirmation_event",
    "get_long_running_function_calls",
    "handle_function_call_list_async",
    "handle_function_calls_async",
    "handle_function_calls_live",
    "merge_parallel_function_response_events",
    "populate_client_function_call_id",
    "remove_client_function_call_id",
]


def populate_client_function_call_id(model_response_event: Event) -> None:
    """Give each call of the event that has no id one of ours (``adk-`` and a UUID)."""
    for call in model_response_event.get_function_calls():
        if not call.id:
            call.id = generate_client_function_call_id()


def remove_client_function_call_id(content: Content | None) -> None:
    """Take our ids off the calls and responses of a content: the model gave none, and is sent none."""
    for part in (content.parts or ()) if content is not None else ():
        for one in (part.function_call, part.function_response):
            if one is not None and one.id and one.id.startswith(AF_FUNCTION_CALL_ID_PREFIX):
                one.id = None


def get_long_running_function_calls(
    function_calls: Iterable[FunctionCall], tools_dict: Mapping[str, BaseTool]
) -> set[str]:
    """The ids of the calls whose tools are long-running."""
    tools = [(call.id, tools_dict.get(call.name or "")) for call in function_calls]
    return {id_ for id_, tool in tools if id_ and tool is not None and tool.is_long_running}


async def handle_function_calls_async(
    invocation_context: InvocationContext,
    function_call_event: Event,
    tools_dict: Mapping[str, BaseTool],
    filters: Collection[str] | None = None,
    tool_confirmation_dict: Mapping[str, ToolConfirmation] | None = None,
) -> Event | None:
    """`handle_function_call_list_async` for the calls of an event."""
    calls = function_call_event.get_function_calls()
    return await handle_function_call_list_async(invocation_context, calls, tools_dict, filters, tool_confirmation_dict)


async def handle_function_call_list_async(
    invocation_context: InvocationContext,
    function_calls: Sequence[FunctionCall],
    tools_dict: Mapping[str, BaseTool],
    filters: Collection[str] | None = None,
    tool_confirmation_dict: Mapping[str, ToolConfirmation] | None = None,
) -> Event | None:
    """Run the calls (with `filters`, those of these ids), hooks and tool policies included.

    The event of their results, which the caller has to commit; None if no call has a result.
    """
    calls = [call for call in function_calls if not filters or call.id in filters]
    with confirmed(invocation_context, tool_confirmation_dict):
        return await dispatch(invocation_context, calls, tools_dict) if calls else None


async def handle_function_calls_live(
    invocation_context: InvocationContext, function_call_event: Event, tools_dict: Mapping[str, BaseTool]
) -> Event | None:
    """`handle_function_calls_async` for the calls of a live session."""
    return await handle_function_calls_async(invocation_context, function_call_event, tools_dict)


def find_event_by_function_call_id(events: Sequence[Event], function_call_id: str) -> Event | None:
    """The newest event with the call of that id."""
    for event in reversed(events):
        if any(call.id == function_call_id for call in event.get_function_calls()):
            return event
    return None


def find_matching_function_call(events: Sequence[Event], function_response_event: Event | None = None) -> Event | None:
    """The event of the call to which the first response of an event belongs, by default of the newest one."""
    event = function_response_event or (events[-1] if events else None)
    responses = event.get_function_responses() if event is not None else []
    if not responses or not responses[0].id:
        return None
    return find_event_by_function_call_id([one for one in events if one is not event], responses[0].id)


def merge_parallel_function_response_events(function_response_events: Sequence[Event]) -> Event:
    """One event of several results: the parts in order, the actions merged key by key. Raises ValueError for none."""
    if not function_response_events:
        raise ValueError("there is no result event to merge")
    return merge_results(function_response_events)


def deep_merge_dicts(d1: Json, d2: Json) -> Json:
    """Merge `d2` into `d1`, dicts at each depth; return `d1`."""
    for key, value in d2.items():
        present = d1.get(key)
        d1[key] = deep_merge_dicts(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return d1


def generate_request_confirmation_event(
    invocation_context: InvocationContext, function_call_event: Event, function_response_event: Event
) -> Event | None:
    """The event that asks the user about the calls whose tools ask for it; None if none does."""
    actions = function_response_event.touched_actions
    if actions is None or not actions.requested_tool_confirmations:
        return None
    return flows.ask_for_approval(invocation_context, function_call_event, actions.requested_tool_confirmations)


def generate_auth_event(invocation_context: InvocationContext, function_response_event: Event) -> Event | None:
    """The event that asks the user for the credentials that tools request; None if none does."""
    actions = function_response_event.touched_actions
    if actions is None or not actions.requested_auth_configs:
        return None
    content = function_response_event.content
    role = content.role if content is not None else None
    return build_auth_request_event(invocation_context, actions.requested_auth_configs, role=role)


def build_auth_request_event(
    invocation_context: InvocationContext,
    auth_requests: dict[str, AuthConfig],
    *,
    author: str | None = None,
    role: str | None = None,
) -> Event:
    """The event that asks the user for each credential, by the id of the call that waits for it.

    What the answer needs and must not be stored is kept in this process only, and a scheme that names no endpoints
    is not looked up: the plugin `auth`, which can wait, does both. Raises AuthConfigError for an incomplete config.
    """
    event = auth.request_event_now(invocation_context, auth_requests, role=role)
    return event if author is None else event.model_copy(update={"author": author})
