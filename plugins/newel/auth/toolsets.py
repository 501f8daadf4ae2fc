"""Toolsets: their credentials, needed before they list their tools; the user is first asked for missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

from newel.auth import credential_requests
from newel.auth.answers import TOOLSET
from newel.auth.auth_handler import AuthHandler
from newel.auth.credential_manager import CredentialManager
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.stash_keys import CREDENTIALS
from newel.questions.question import Kind, unanswered
from newel_kernel import BaseToolset, Event, EventActions, InvocationContext, Log, ModelAgent
from newel_types import AuthConfig


@runtime_checkable
class Prepared(Protocol):
    """A toolset that finds out before it lists its tools whether it needs a credential."""

    async def __newel_prepare__(self, context: Context, /) -> bool:
        """Get ready; whether a credential is needed that was not there, and that `get_auth_config` now describes.

        What it writes to the context's state is stored.
        """


async def resolve_toolsets(ctx: InvocationContext) -> Sequence[Event] | None:
    """Get the credentials of the agent's toolsets (`context.get_credential(key)` gives them to `get_tools`).

    If one is missing, the invocation ends with the request for it: there are no tools to show to the model.
    """
    agent = cast("ModelAgent", ctx.agent)
    missing: dict[str, AuthConfig] = {}
    notes: list[Event] = []
    for toolset in (entry for entry in agent.tools if isinstance(entry, BaseToolset)):
        request = await _missing(toolset, ctx)
        if request is None and isinstance(toolset, Prepared):
            context = Context(full_invocation(ctx))
            request = await _missing(toolset, ctx) if await toolset.__newel_prepare__(context) else None
            if (actions := context.touched_actions) is not None and actions.state_delta:
                notes.append(_note(ctx, actions))
        if request is None:
            continue
        if request.credential_key in _asked(ctx):
            ctx.end_invocation = True
        else:
            missing[_name(toolset, missing)] = request
    if not missing:
        return notes
    event = await credential_requests.request_event(ctx, missing)
    ctx.end_invocation = True
    return [*notes, event]


def _asked(ctx: InvocationContext) -> set[str]:
    """The keys of the credentials that calls of this invocation have asked the user for."""
    return {
        str((question.args.get("authConfig") or {}).get("credentialKey"))
        for question in unanswered(Log(ctx.session.events))
        if question.kind is Kind.CREDENTIAL and question.invocation_id == ctx.invocation_id
    }


def _note(ctx: InvocationContext, actions: EventActions) -> Event:
    """The event with which what a toolset notes in the state is stored."""
    return Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, actions=actions)


async def _missing(toolset: BaseToolset, ctx: InvocationContext) -> AuthConfig | None:
    """The request for the toolset's credential, if it needs one that is not there; one that is there is kept for it."""
    config = toolset.get_auth_config()
    if not config:
        return None
    context, manager = Context(full_invocation(ctx)), CredentialManager(config)
    credential = await manager.get_auth_credential(context)
    if credential is not None:
        ctx.stash[CREDENTIALS][config.credential_key or ""] = credential
        return None
    request = manager.request_config(context)
    AuthHandler(request).check()
    return request


def _name(toolset: BaseToolset, names: dict[str, AuthConfig]) -> str:
    name = f"{TOOLSET}{type(toolset).__name__}"
    same = sum(one == name or one.startswith(f"{name}_") for one in names)
    return f"{name}_{same + 1}" if same else name
