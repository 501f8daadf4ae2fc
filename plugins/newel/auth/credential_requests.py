"""Credential requests: the event that requests credentials, and the calls that run again once the answers have come."""

from __future__ import annotations

from newel.auth import pending
from newel.auth.auth_handler import AuthHandler
from newel.auth.oauth2_discovery import with_end_points
from newel.auth.settings import settings_of
from newel.auth.token_endpoint import policy_of
from newel.contexts.stash_keys import CONFIGS, SECRETS
from newel.questions.answers import tools_of
from newel.questions.names import CREDENTIAL_CALL
from newel.questions.requests import new_request
from newel.questions.requests import request_event as question_event
from newel_kernel import Event, InvocationContext, dispatch, run_tools
from newel_types import AuthConfig, AuthToolArguments, FunctionCall


async def request_event(ctx: InvocationContext, requests: dict[str, AuthConfig], *, role: str | None = None) -> Event:
    """The event that asks for each of `requests` (by the id of the waiting call); each is replaced by its public form.

    Raises AuthConfigError if a config lacks something that the request needs.
    """
    calls: list[FunctionCall] = []
    for waiting, config in requests.items():
        own = ctx.stash[CONFIGS].pop(waiting, None) or config
        scheme = await with_end_points(own.auth_scheme, policy_of(settings_of(ctx)))
        full, call = _request(ctx, requests, waiting, own.model_copy(update={"auth_scheme": scheme}))
        await pending.keep(ctx, str(call.id), full)
        calls.append(call)
    return question_event(ctx, calls, role=role)


def request_event_now(ctx: InvocationContext, requests: dict[str, AuthConfig], *, role: str | None = None) -> Event:
    """`request_event` for synchronous callers: endpoints are not looked up, and only this process keeps secrets."""
    calls: list[FunctionCall] = []
    for waiting, config in requests.items():
        full, call = _request(ctx, requests, waiting, ctx.stash[CONFIGS].pop(waiting, config))
        pending.hold(ctx, str(call.id), full)
        calls.append(call)
    return question_event(ctx, calls, role=role)


def _request(
    ctx: InvocationContext, requests: dict[str, AuthConfig], waiting: str, config: AuthConfig
) -> tuple[AuthConfig, FunctionCall]:
    """The full request, and the call that asks the user; `requests` then holds the request as the user sees it."""
    full = AuthHandler(config).generate_auth_request()
    requests[waiting] = request = _for_user(ctx, full)
    args = AuthToolArguments(function_call_id=waiting, auth_config=request)
    return full, new_request(CREDENTIAL_CALL, args.model_dump(mode="json", by_alias=True, exclude_none=True))


def _for_user(ctx: InvocationContext, full: AuthConfig) -> AuthConfig:
    """The request as the user's side sees it: no secret of the app, and never the PKCE verifier."""
    if not settings_of(ctx).recorded:
        return full.sealed()
    credential = full.exchanged_auth_credential
    if credential is None or credential.oauth2 is None or not credential.oauth2.code_verifier:
        return full
    oauth2 = credential.oauth2.model_copy(update={"code_verifier": None})
    return full.model_copy(update={"exchanged_auth_credential": credential.model_copy(update={"oauth2": oauth2})})


async def run_again(ctx: InvocationContext, waiting: set[str]) -> list[Event]:
    """Run this agent's calls with these ids again; return the events of their results and of new requests."""
    events: list[Event] = []
    call_events = _calls_of(ctx, waiting)
    tools = await tools_of(ctx) if call_events else {}
    for event, calls in call_events:
        if not settings_of(ctx).recorded:
            events += await run_tools(ctx, tools, event, calls)
        elif (results := await dispatch(ctx, calls, tools)) is not None:
            events.append(results)
    return events


def _calls_of(ctx: InvocationContext, waiting: set[str]) -> list[tuple[Event, list[FunctionCall]]]:
    """This agent's latest calls with these ids, in order: a model may reuse the id of a finished call."""
    call_events: list[tuple[Event, list[FunctionCall]]] = []
    ids = set(waiting)
    for event in reversed(ctx.session.events):
        if not ids:
            break
        calls = [call for call in event.get_function_calls() if call.id in ids]
        if calls and event.author == ctx.agent.name:
            call_events.append((event, calls))
            ids.difference_update(str(call.id) for call in calls)
    return call_events[::-1]


def mask_results(ctx: InvocationContext, event: Event) -> None:
    """Mask the secrets that this invocation has handed out, in the results of tools and in their actions."""
    secrets = ctx.stash.get(SECRETS, None)
    if secrets is None:
        return
    secrets.mask_event(event, ctx.session.state)
