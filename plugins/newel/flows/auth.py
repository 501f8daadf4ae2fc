"""auth: the user is asked for the credentials that tools request, and the calls are run again with the answers.

A request is an event with a call of ``adk_request_credential``, the answer is a response to that call (see
docs/reference/behaviour.md#questions). Neither holds a secret in the session: what the answer brings stays in the
invocation, and what the request needs later is kept apart (`newel.auth.pending`). With the setting `recorded` both
events hold what the recorded releases put there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel import auth
from newel.auth.settings import Settings
from newel.contexts.stash_keys import AMID, SECRETS
from newel.questions.names import CREDENTIAL_CALL
from newel.questions.precedence import MESSAGES, late_answers, late_ids, stored_log
from newel_kernel import (
    BaseTool,
    Context,
    Event,
    InvocationContext,
    Json,
    LlmRequest,
    Prologue,
    RequestProcessor,
    ResultProcessor,
    hookimpl,
)

if TYPE_CHECKING:
    from newel_types import AuthConfig


def receive(ctx: InvocationContext) -> Awaitable[Sequence[Event] | None] | None:
    """Take the secrets out of a message that answers a request, before anything else sees or stores it."""
    content = ctx.user_content
    for part in (content.parts or ()) if content is not None else ():
        if part.function_response is not None:
            ctx.user_content = auth.seal_answers(ctx, content)  # type: ignore[arg-type]
            return auth.hand_over_answers(ctx) if AMID in ctx.stash else None
    return None


def before(ctx: InvocationContext, request: LlmRequest) -> Awaitable[Sequence[Event] | None] | None:
    """Take up the answers in the latest message, and run again the calls that waited for them."""
    own = ctx.stash.get(MESSAGES, None)
    if own is None and not ctx.resumed and ctx.mode is None:
        return None  # the run began with a message that answers nothing
    for event in reversed(ctx.session.events):
        if event.content is not None:
            if event.author != "user":
                return None
            if not own or any(event.id == message.id for message in own):
                break  # what was sent to other runs meanwhile is for those runs
    else:
        return None
    for message in own or (event,):
        for part in message.content.parts or () if message.content is not None else ():
            if part.function_response is not None and part.function_response.name == CREDENTIAL_CALL:
                return _take_up(ctx, own or (event,))
    return None


async def _take_up(ctx: InvocationContext, messages: Sequence[Event]) -> Sequence[Event] | None:
    log = await stored_log(ctx)
    late = {*late_ids(ctx), *late_answers(ctx, log)}
    responses = [one for message in messages for one in message.get_function_responses() if one.id not in late]
    waiting = await auth.take_answers(ctx, responses)
    if not waiting or not getattr(ctx.agent, "tools", None):
        return None
    return await auth.run_again(ctx, waiting)


def after(ctx: InvocationContext, call_event: Event, result_event: Event) -> Awaitable[list[Event]] | None:
    """The event that asks for the credentials which the calls have requested."""
    if SECRETS in ctx.stash:
        auth.mask_results(ctx, result_event)
    actions = result_event.touched_actions
    if actions is None or not actions.requested_auth_configs:
        return None
    return _questions(ctx, result_event, actions.requested_auth_configs)


async def _questions(ctx: InvocationContext, result_event: Event, requests: dict[str, AuthConfig]) -> list[Event]:
    role = result_event.content.role if result_event.content is not None else None
    return [await auth.request_event(ctx, requests, role=role)]


@hookimpl(tryfirst=True)
def on_tool_error_callback(tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception) -> Json | None:
    """Mask the secrets of the invocation in the error of a tool, before it is shown or logged."""
    secrets = tool_context.get_invocation_context().stash.get(SECRETS, None)
    if secrets is None or (masked := secrets.mask_error(error)) is error:
        return None
    return {"error": f"{type(masked).__name__}: {masked}"}


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_prologues(settings: Mapping[str, Settings]) -> list[Prologue]:
    """The prologue `auth`."""
    return [] if settings["auth"].recorded else [Prologue(name="auth", run=receive, on_continuation=True, amid=True)]


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The request processor `auth`."""
    return [RequestProcessor(name="auth", run=before, on_continuation=True)]


@hookimpl
def register_result_processors(settings: Mapping[str, Settings]) -> list[ResultProcessor]:
    """The result processor `auth`, before the results. Any result may hold a secret, unless secrets are shown."""
    applies_to = attrgetter("touched_actions") if settings["auth"].recorded else None
    return [ResultProcessor(name="auth", run=after, applies_to=applies_to)]
