"""Templates: ``{key}`` placeholders in an instruction, filled from the session's state and artifacts.

``{key}`` is required, ``{key?}`` optional; ``{app:key}``, ``{user:key}`` and ``{temp:key}`` name a scope;
``{artifact.name}`` is an artifact's text. Braces around anything else are unchanged.
"""

from __future__ import annotations

import re

from newel.contexts.invocation_context import full_invocation
from newel_kernel import InvocationContext, ReadonlyContext

_PLACEHOLDER = re.compile(r"{+[^{}]*}+")
_SCOPES = ("app", "user", "temp")


async def inject_session_state(template: str, readonly_context: ReadonlyContext) -> str:
    """`template` with its placeholders filled; a missing required key is a KeyError that names it."""
    ctx = readonly_context._invocation_context
    return await fill(template, ctx)


async def fill(template: str, ctx: InvocationContext, *, literal_doubles: bool = False) -> str:
    """`template` filled from the invocation. With `literal_doubles`, ``{{key}}`` is the text ``{key}``."""
    if "{" not in template:
        return template
    pieces: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(template):
        pieces.append(template[end : match.start()])
        pieces.append(await _value(match.group(), ctx, literal_doubles))
        end = match.end()
    pieces.append(template[end:])
    return "".join(pieces)


async def _value(placeholder: str, ctx: InvocationContext, literal_doubles: bool) -> str:
    if literal_doubles and placeholder.startswith("{{") and placeholder.endswith("}}"):
        return placeholder[1:-1]
    name = placeholder.lstrip("{").rstrip("}").strip()
    optional = name.endswith("?")
    name = name.removesuffix("?")
    if name.startswith("artifact."):
        return await _artifact(name.removeprefix("artifact."), ctx, optional)
    if not is_state_name(name):
        return placeholder
    state = ctx.session.state
    if name in state:
        value = state[name]
        return "" if value is None else str(value)
    if optional:
        return ""
    raise KeyError(f"Context variable not found: `{name}`.")


async def _artifact(filename: str, ctx: InvocationContext, optional: bool) -> str:
    service = full_invocation(ctx).artifact_service
    if service is None:
        raise ValueError("Artifact service is not initialized.")
    session = ctx.session
    artifact = await service.load_artifact(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, filename=filename
    )
    if artifact is None:
        if optional:
            return ""
        raise KeyError(f"Artifact {filename} not found.")
    return str(artifact.text) if artifact.text is not None else str(artifact)


def is_state_name(name: str) -> bool:
    """Whether `name` can be a state key: an identifier, with at most one of the scopes before it."""
    scope, colon, rest = name.partition(":")
    return name.isidentifier() if not colon else scope in _SCOPES and rest.isidentifier()
