"""Toolsets: their credentials, needed before they list their tools; the user is first asked for missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from newel.auth import credential_requests
from newel.auth.answers import TOOLSET
from newel.auth.auth_handler import AuthHandler
from newel.auth.credential_manager import CredentialManager
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel.contexts.stash_keys import CREDENTIALS
from newel_kernel import BaseToolset, Event, InvocationContext, ModelAgent
from newel_types import AuthConfig


async def resolve_toolsets(ctx: InvocationContext) -> Sequence[Event] | None:
    """Get the credentials of the agent's toolsets (`context.get_credential(key)` gives them to `get_tools`).

    If one is missing, the invocation ends with the request for it: there are no tools to show to the model.
    """
    agent = cast("ModelAgent", ctx.agent)
    missing: dict[str, AuthConfig] = {}
    for toolset in (entry for entry in agent.tools if isinstance(entry, BaseToolset)):
        config = toolset.get_auth_config()
        if not config:
            continue
        context, manager = Context(full_invocation(ctx)), CredentialManager(config)
        credential = await manager.get_auth_credential(context)
        if credential is not None:
            ctx.stash[CREDENTIALS][config.credential_key or ""] = credential
            continue
        request = manager.request_config(context)
        AuthHandler(request).check()
        missing[_name(toolset, missing)] = request
    if not missing:
        return None
    event = await credential_requests.request_event(ctx, missing)
    ctx.end_invocation = True
    return [event]


def _name(toolset: BaseToolset, names: dict[str, AuthConfig]) -> str:
    name = f"{TOOLSET}{type(toolset).__name__}"
    same = sum(one == name or one.startswith(f"{name}_") for one in names)
    return f"{name}_{same + 1}" if same else name
