"""Pending requests: the secrets that an answer to a request needs, kept apart from the request until then.

These are the client's secret and the PKCE verifier, and the credential of an answer that is taken in for a run of
another task or process. They are kept in this process and, if there is one, in the credential service, so that another
process may accept the answer.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict

from newel.auth.credential_service.expiry import EXPIRY_FIELD, is_over
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel_kernel import InvocationContext, seam
from newel_types import AuthConfig, AuthCredential

MOST = 1_000
#: How long an answer may take, in seconds.
PATIENCE = 86_400
_REQUEST, _ANSWER = "pending", "answer"
_credentials: OrderedDict[tuple[str, ...], AuthCredential] = OrderedDict()
_lock = threading.Lock()


async def keep(ctx: InvocationContext, call_id: str, request: AuthConfig) -> None:
    """Keep the credential that `request`, the call `call_id`, was made for."""
    if (credential := hold(ctx, call_id, request)) is not None:
        await _save(ctx, _REQUEST, call_id, request, credential)


def hold(ctx: InvocationContext, call_id: str, request: AuthConfig) -> AuthCredential | None:
    """Keep that credential in this process; None if it holds no secret."""
    issued = request.exchanged_auth_credential
    if issued is None or not any(issued.secrets()):
        return None
    return _hold(ctx, _REQUEST, call_id, issued)


async def take(ctx: InvocationContext, call_id: str, request: AuthConfig) -> AuthCredential | None:
    """Remove and return the credential that was kept for the call `call_id`."""
    return await _take(ctx, _REQUEST, call_id, request)


async def keep_answer(ctx: InvocationContext, place: str, request: AuthConfig, answer: AuthCredential) -> None:
    """Keep an answer for the run that asked, under the name `place`."""
    await _save(ctx, _ANSWER, place, request, _hold(ctx, _ANSWER, place, answer))


async def take_answer(ctx: InvocationContext, place: str, request: AuthConfig) -> AuthCredential | None:
    """Remove and return the answer that was kept under the name `place`."""
    return await _take(ctx, _ANSWER, place, request)


def _hold(ctx: InvocationContext, what: str, call_id: str, credential: AuthCredential) -> AuthCredential:
    credential = credential.model_copy(update={EXPIRY_FIELD: seam.clock() + PATIENCE})
    with _lock:
        _credentials[_key(ctx, what, call_id)] = credential
        while len(_credentials) > MOST:
            _credentials.popitem(last=False)
    return credential


async def _save(
    ctx: InvocationContext, what: str, call_id: str, request: AuthConfig, credential: AuthCredential
) -> None:
    if (service := full_invocation(ctx).credential_service) is not None:
        stored = _stored(ctx, what, call_id, request).model_copy(update={"exchanged_auth_credential": credential})
        await service.save_credential(stored, Context(full_invocation(ctx)))


async def _take(ctx: InvocationContext, what: str, call_id: str, request: AuthConfig) -> AuthCredential | None:
    with _lock:
        own = _credentials.pop(_key(ctx, what, call_id), None)
    service = full_invocation(ctx).credential_service
    if service is not None:
        stored = _stored(ctx, what, call_id, request)
        stored_credential = await service.load_credential(stored, Context(full_invocation(ctx)))
        if stored_credential is not None:
            empty = stored.model_copy(update={"exchanged_auth_credential": None})
            await service.save_credential(empty, Context(full_invocation(ctx)))
            own = own or stored_credential
    return own if own is not None and not is_over(own) else None


def _key(ctx: InvocationContext, what: str, call_id: str) -> tuple[str, ...]:
    return what, ctx.app_name, ctx.user_id, ctx.session.id, call_id


def _stored(ctx: InvocationContext, what: str, call_id: str, request: AuthConfig) -> AuthConfig:
    key = json.dumps([ctx.session.id, call_id])  # as JSON, so that no two pairs of ids give the same text
    return request.model_copy(update={"credential_key": f"{what}:{key}"})
