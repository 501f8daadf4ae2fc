"""Asking: the event that requests credentials, and the calls that run again once they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from newel.auth import pending
from newel.auth.auth_handler import AuthHandler
from newel.auth.oauth2_discovery import with_end_points
from newel.auth.settings import settings_of
from newel.auth.token_endpoint import policy_of
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.stash_keys import CONFIGS, SECRETS
from newel.questions.names import CREDENTIAL_CALL
from newel.questions.question import new_request
from newel.questions.question import request_event as question_event
from newel_kernel import BaseTool, BaseToolset, Event, InvocationContext, dispatch
from newel_types import AuthConfig, AuthToolArguments, FunctionCall


async def request_event(
    ctx: InvocationContext, requests: dict[str, AuthConfig], *, role: str | None = None
) -> Event:
    """The event that asks for each of `requests` (by the id of the call that waits), which are put in order for it.

    Raises AuthConfigError where a config lacks what the question needs.
    """
    calls: list[FunctionCall] = []
    for waiting, shown in requests.items():
        own = ctx.stash[CONFIGS].pop(waiting, None) or shown
        scheme = await with_end_points(own.auth_scheme, policy_of(settings_of(ctx)))
        full = AuthHandler(own.model_copy(update={"auth_scheme": scheme})).generate_auth_request()
        requests[waiting] = asked = _shown(ctx, full)
        args = AuthToolArguments(function_call_id=waiting, auth_config=asked)
        call = new_request(CREDENTIAL_CALL, args.model_dump(mode="json", by_alias=True, exclude_none=True))
        await pending.keep(ctx, str(call.id), full)
        calls.append(call)
    return question_event(ctx, calls, role=role)


def _shown(ctx: InvocationContext, full: AuthConfig) -> AuthConfig:
    """What the user's side sees of a request: no secret of the app, and never the PKCE verifier."""
    if not settings_of(ctx).recorded:
        return full.sealed()
    made = full.exchanged_auth_credential
    if made is None or made.oauth2 is None or not made.oauth2.code_verifier:
        return full
    oauth2 = made.oauth2.model_copy(update={"code_verifier": None})
    return full.model_copy(update={"exchanged_auth_credential": made.model_copy(update={"oauth2": oauth2})})


async def run_again(ctx: InvocationContext, waiting: set[str]) -> list[Event]:
    """Run this agent's calls of these ids again; the events of their results, and of what they ask for."""
    events: list[Event] = []
    found = _calls_of(ctx, waiting)
    tools = await tools_of(ctx) if found else {}
    for event, calls in found:
        results = await dispatch(ctx, calls, tools)
        if results is not None:
            events.extend(await _with_chain(ctx, event, results))
    return events


def _calls_of(ctx: InvocationContext, waiting: set[str]) -> list[tuple[Event, list[FunctionCall]]]:
    """This agent's latest calls of these ids, in order: a model may use the id of a call that is over again."""
    found: list[tuple[Event, list[FunctionCall]]] = []
    left = set(waiting)
    for event in reversed(ctx.session.events):
        if not left:
            break
        calls = [call for call in event.get_function_calls() if call.id in left]
        if calls and event.author == ctx.agent.name:
            found.append((event, calls))
            left.difference_update(str(call.id) for call in calls)
    return found[::-1]


async def _with_chain(ctx: InvocationContext, call_event: Event, results: Event) -> list[Event]:
    """The results among what the result chain adds to them."""
    if settings_of(ctx).recorded:
        return [results]
    before: list[Event] = []
    after: list[Event] = []
    for processor in ctx.composition.result_chain:
        if processor.applies_to is None or processor.applies_to(results):
            (after if processor.follows else before).extend(await processor.run(ctx, call_event, results) or ())
    return [*before, results, *after]


async def tools_of(ctx: InvocationContext) -> dict[str, BaseTool]:
    """The tools of the agent that runs, by name."""
    agent: Any = ctx.agent
    found: Sequence[BaseTool]
    tools: dict[str, BaseTool] = {}
    for entry in agent.tools:
        if isinstance(entry, BaseToolset):
            found = await entry.get_tools_with_prefix(Context(full_invocation(ctx)))
        else:
            found = agent.as_tools(entry, ctx)
        tools.update({tool.name: tool for tool in found})
    return tools


def mask_results(ctx: InvocationContext, event: Event) -> None:
    """Mask the secrets that this invocation has handed out in the results of tools, and in what they wrote."""
    secrets = ctx.stash.get(SECRETS, None)
    if secrets is None:
        return
    for response in event.get_function_responses():
        response.response = secrets.mask(response.response)
    secrets.mask_writes(event, ctx.session.state)
