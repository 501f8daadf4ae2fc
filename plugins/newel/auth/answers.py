"""Answers: what a user's message gives for the requests of credentials, taken out of it and taken up."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from newel.auth import pending
from newel.auth.auth_handler import AuthHandler
from newel.auth.errors import AuthConfigError, CredentialExchangeError
from newel.auth.exchanger.oauth2_credential_exchanger import OAuth2CredentialExchanger
from newel.auth.oauth2_discovery import with_end_points
from newel.auth.secrecy import note
from newel.auth.settings import settings_of
from newel.auth.stash_keys import ANSWERS, FAILURES, STORED, UNEXCHANGED
from newel.auth.token_endpoint import policy_of
from newel.contexts.stash_keys import CREDENTIALS
from newel.questions.names import CREDENTIAL_CALL
from newel_kernel import Event, FeatureUnavailableError, InvocationContext, Json, Log
from newel_types import (
    APIKey,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthToolArguments,
    Content,
    FunctionResponse,
    HttpAuth,
    HTTPBase,
    HttpCredentials,
    OAuth2Auth,
    Part,
)

#: The function_call_id of a request that comes from a toolset starts so; no call waits for it.
TOOLSET = "_adk_toolset_auth_"

logger = logging.getLogger(__name__)


def seal_answers(ctx: InvocationContext, content: Content) -> Content:
    """`content` with its answers sealed; what they hold goes into the invocation's stash.

    Raises AuthConfigError for an answer that is none: nothing of it is stored.
    """
    asked = _requests(ctx, {p.function_response.id for p in content.parts or () if p.function_response is not None})
    return Content(role=content.role, parts=[_sealed(ctx, part, asked) for part in content.parts or ()])


def _sealed(ctx: InvocationContext, part: Part, asked: Mapping[str, AuthToolArguments]) -> Part:
    response = part.function_response
    if response is None or (response.name != CREDENTIAL_CALL and response.id not in asked):
        return part
    request = asked.get(response.id or "")
    shown: Json = {}
    if request is not None:
        shown["credentialKey"] = request.auth_config.credential_key
        answer = None
        if not _is_sealed(response.response):
            answer = read(response.response, request.auth_config, response.id)
        if answer is not None:
            ctx.stash[ANSWERS][response.id] = answer
            note(ctx, answer)
            shown["exchangedAuthCredential"] = {"authType": answer.auth_type.value}
    return Part(function_response=FunctionResponse(id=response.id, name=CREDENTIAL_CALL, response=shown))


def read(value: object, request: AuthConfig, call_id: str | None) -> AuthCredential | None:
    """The credential of an answer: an AuthConfig with it, the AuthCredential itself, or ``{"result": "the text"}``."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), str) and len(value) == 1:
        return _plain(value["result"], request)
    is_credential = isinstance(value, Mapping) and ("authType" in value or "auth_type" in value)
    try:
        if is_credential:
            return AuthCredential.model_validate(value)
        return AuthConfig.model_validate(value).exchanged_auth_credential
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False))
    wanted = "AuthCredential" if is_credential else "AuthConfig"
    raise AuthConfigError(
        f"the answer to the call {call_id} of {CREDENTIAL_CALL} is no {wanted}: "
        f"wrong or missing is {fields}; send the authConfig of the call with its exchangedAuthCredential filled in"
    )


def _plain(text: str, request: AuthConfig) -> AuthCredential:
    scheme = request.auth_scheme
    if isinstance(scheme, APIKey):
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=text)
    if isinstance(scheme, HTTPBase):
        http = HttpAuth(scheme=scheme.scheme, credentials=HttpCredentials(token=text))
        return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(access_token=text))


def _is_sealed(value: object) -> bool:
    """Whether an answer is one as it is stored: who handed it on had lost what it held, and is to be asked again."""
    if not isinstance(value, Mapping) or "credentialKey" not in value:
        return False
    shown = value.get("exchangedAuthCredential", {"authType": ""})
    rest = value.keys() - {"credentialKey", "exchangedAuthCredential"}
    return not rest and isinstance(shown, Mapping) and shown.keys() == {"authType"}


async def take_answers(ctx: InvocationContext, responses: Sequence[FunctionResponse]) -> set[str]:
    """Take up the answers among `responses`: their credentials are the invocation's. The calls that waited for them.

    What an answer is for is told by the request that the session holds, never by the answer.
    """
    answered = {r.id: r for r in responses if r.name == CREDENTIAL_CALL and r.id}
    if not answered:
        return set()
    waiting = set()
    recorded = settings_of(ctx).recorded
    for call_id, request in _requests(ctx, set(answered), own=not recorded).items():
        answer = ctx.stash[ANSWERS].pop(call_id, None)
        if not recorded and _is_done(ctx, call_id, request.function_call_id):
            continue  # the answer came before, and its call has run: it must change nothing
        if answer is None and recorded:
            answer = read(answered[call_id].response, request.auth_config, call_id)
        if answer is not None:
            await _accept(ctx, call_id, request.auth_config, answer)
        if not request.function_call_id.startswith(TOOLSET):
            waiting.add(request.function_call_id)
    return waiting


def _is_done(ctx: InvocationContext, request_id: str, call_id: str) -> bool:
    """Whether an answer to the request has come before, and a result of the call that asks for nothing after it."""
    log = Log(ctx.session.events)
    position, _, _ = next(log.requests({request_id}), (len(log.events), None, None))
    answers = log.answers(request_id, position)
    for event in log.events[answers[0] + 1 :] if answers else ():
        ids = {response.id for response in event.get_function_responses()}
        if event.author != "user" and call_id in ids and not (event.custom_metadata or {}).get("provisional"):
            actions = event.touched_actions
            if actions is None or call_id not in actions.requested_auth_configs:
                return True
    return False


def _requests(ctx: InvocationContext, call_ids: set[str | None], *, own: bool = False) -> dict[str, AuthToolArguments]:
    """What was asked by the requests of these ids; with `own`, only by those of the agent that runs."""
    found: dict[str, AuthToolArguments] = {}
    for _, event, call in Log(ctx.session.events).requests(call_ids - {None}):
        if call.id in found or event.author == "user" or (own and not _is_own(ctx, event)):
            continue
        same = [one for one in event.get_function_calls() if one.id == call.id]
        if call.id is not None and all(one.name == CREDENTIAL_CALL for one in same):
            found[call.id] = AuthToolArguments.model_validate(call.args)
    return found


def _is_own(ctx: InvocationContext, event: Event) -> bool:
    if ctx.branch not in (None, event.branch):  # an answer may run an agent by itself that ran in a branch before
        return False
    return event.author == ctx.agent.name and event.isolation_scope == ctx.isolation_scope


async def _accept(ctx: InvocationContext, call_id: str, request: AuthConfig, answer: AuthCredential) -> None:
    recorded, key = settings_of(ctx).recorded, request.credential_key or ""
    kept = await pending.take(ctx, call_id, request)
    issued = kept or request.exchanged_auth_credential or request.raw_auth_credential
    try:
        credential = AuthHandler(request).accept(answer, issued)
    except AuthConfigError as error:
        logger.warning("%s", error)
        return
    if credential is None:
        if not recorded:
            return
        credential = answer  # the recorded releases hand on what holds nothing, too
    note(ctx, credential)
    ctx.stash[STORED].discard(key)
    if credential.oauth2 is not None and credential.oauth2.auth_code and not credential.oauth2.access_token:
        exchanged = await _exchanged(ctx, request, credential)
        if exchanged is None and not recorded:
            if kept is None:
                ctx.stash[UNEXCHANGED][key] = answer  # the tool's own config may have what it takes
                ctx.stash[FAILURES].pop(key, None)
            return
        credential = exchanged or credential
        note(ctx, credential)
    ctx.stash[CREDENTIALS][key] = credential
    if recorded:
        ctx.session.state[f"temp:{key}"] = credential


async def _exchanged(ctx: InvocationContext, request: AuthConfig, credential: AuthCredential) -> AuthCredential | None:
    policy = policy_of(settings_of(ctx))
    try:
        scheme = await with_end_points(request.auth_scheme, policy)
        result = await OAuth2CredentialExchanger(policy).exchange(credential, scheme)
        return result.credential if result.was_exchanged else None
    except (CredentialExchangeError, AuthConfigError, FeatureUnavailableError) as error:
        logger.warning("the answer for the credential %r gives no token: %s", request.credential_key, error)
        if not (isinstance(error, CredentialExchangeError) and error.user_can_help):
            ctx.stash[FAILURES][request.credential_key or ""] = error  # for the tool, whose matter it is
        return None
