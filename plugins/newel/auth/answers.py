"""Answers: the credentials that a user's message gives to requests, taken out of it and accepted."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from newel.auth import pending
from newel.auth.auth_handler import AuthHandler
from newel.auth.errors import AuthConfigError, CredentialExchangeError
from newel.auth.grants import chosen
from newel.auth.kinds import exchanger_of
from newel.auth.oauth2_discovery import with_end_points
from newel.auth.secrecy import note
from newel.auth.settings import settings_of
from newel.auth.stash_keys import ANSWERS, FAILURES, STORED, UNEXCHANGED
from newel.auth.token_endpoint import policy_of
from newel.contexts.stash_keys import AMID, CREDENTIALS
from newel.questions.names import CREDENTIAL_CALL
from newel.questions.precedence import first_answer, is_acted_on
from newel.questions.question import Kind, Question, find_questions
from newel_kernel import ConfigurationError, FeatureUnavailableError, InvocationContext, Json, Log, response_ids, seam
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

#: The prefix of the function_call_id in a toolset's request; no call waits for that request.
TOOLSET = "_adk_toolset_auth_"

#: The field of a sealed answer that names the place where its credential is kept for the run.
_KEPT = "kept"

logger = logging.getLogger(__name__)


def seal_answers(ctx: InvocationContext, content: Content) -> Content:
    """`content` with its answers sealed; their credentials go into the invocation's stash.

    Raises AuthConfigError for an invalid answer: none of it is stored.
    """
    requests = {
        id_: arguments_of(question) for id_, (_, question) in _requests(ctx, set(response_ids(content))).items()
    }
    return Content(role=content.role, parts=[_sealed(ctx, part, requests) for part in content.parts or ()])


async def hand_over_answers(ctx: InvocationContext) -> None:
    """Keep the answers that `seal_answers` took out of a message for the run that asked, which is another one."""
    content, answers = ctx.user_content, ctx.stash[ANSWERS]
    requests = _requests(ctx, set(answers))
    for part in (content.parts or ()) if content is not None else ():
        response = part.function_response
        if response is not None and response.id in requests and (place := _place(response)) is not None:
            request = arguments_of(requests[response.id][1])
            await pending.keep_answer(ctx, place, request.auth_config, answers[response.id])


def _place(response: FunctionResponse) -> str | None:
    """Where the credential of a sealed answer is kept: each answer has its own place, for the first one counts."""
    name = (response.response or {}).get(_KEPT)
    return None if name is None else f"{response.id}#{name}"


def arguments_of(question: Question) -> AuthToolArguments:
    """The credential that a request asks for, and the call that needs it."""
    return AuthToolArguments.model_validate(question.args)


def _sealed(ctx: InvocationContext, part: Part, requests: Mapping[str, AuthToolArguments]) -> Part:
    response = part.function_response
    if response is None or (response.name != CREDENTIAL_CALL and response.id not in requests):
        return part
    request = requests.get(response.id or "")
    sealed: Json = {}
    if request is not None:
        sealed["credentialKey"] = request.auth_config.credential_key
        answer = None
        if not _is_sealed(response.response):
            answer = read(response.response, request.auth_config, response.id)
        if answer is not None:
            ctx.stash[ANSWERS][response.id] = answer
            note(ctx, answer)
            sealed["exchangedAuthCredential"] = {"authType": answer.auth_type.value}
            if AMID in ctx.stash:
                sealed[_KEPT] = seam.random_uuid()
    return Part(function_response=FunctionResponse(id=response.id, name=CREDENTIAL_CALL, response=sealed))


def read(value: object, request: AuthConfig, call_id: str | None) -> AuthCredential | None:
    """The credential of an answer: an AuthConfig with it, the AuthCredential itself, or ``{"result": "the text"}``."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), str) and len(value) == 1:
        return _from_text(value["result"], request)
    is_credential = isinstance(value, Mapping) and ("authType" in value or "auth_type" in value)
    try:
        if is_credential:
            return AuthCredential.model_validate(value)
        return AuthConfig.model_validate(value).exchanged_auth_credential
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, one["loc"])) for one in error.errors(include_input=False))
    type_name = "AuthCredential" if is_credential else "AuthConfig"
    raise AuthConfigError(
        f"the answer to the call {call_id} of {CREDENTIAL_CALL} is not an {type_name}: "
        f"wrong or missing: {fields}; send the authConfig of the call with its exchangedAuthCredential filled in"
    )


def _from_text(text: str, request: AuthConfig) -> AuthCredential:
    scheme = request.auth_scheme
    if isinstance(scheme, APIKey):
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=text)
    if isinstance(scheme, HTTPBase):
        http = HttpAuth(scheme=scheme.scheme, credentials=HttpCredentials(token=text))
        return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(access_token=text))


def _is_sealed(value: object) -> bool:
    """Whether an answer is in its stored form: its credential is lost, and the user is asked again."""
    if not isinstance(value, Mapping) or "credentialKey" not in value:
        return False
    sealed = value.get("exchangedAuthCredential", {"authType": ""})
    rest = value.keys() - {"credentialKey", "exchangedAuthCredential", _KEPT}
    return not rest and isinstance(sealed, Mapping) and sealed.keys() == {"authType"}


async def take_answers(ctx: InvocationContext, responses: Sequence[FunctionResponse], *, own: bool = True) -> set[str]:
    """Accept the credentials among `responses` for this invocation; return the ids of the calls that waited for them.

    The request in the session says what an answer is for; the answer itself never does. With `own`, only requests of
    the running agent count.
    """
    answered = {r.id: r for r in responses if r.name == CREDENTIAL_CALL and r.id}
    if not answered:
        return set()
    call_ids = set()
    recorded, log = settings_of(ctx).recorded, Log(ctx.session.events)
    for call_id, (position, question) in _requests(ctx, set(answered), own=own and not recorded).items():
        answer = ctx.stash[ANSWERS].pop(call_id, None)
        first = first_answer(log, position, question)
        if not recorded and first is not None and is_acted_on(log, first, question):
            continue  # an earlier answer counts, and its call has run: this one must change nothing
        request = arguments_of(question)
        if answer is None and (place := _place(answered[call_id])) is not None:
            answer = await pending.take_answer(ctx, place, request.auth_config)
        if answer is None and recorded:
            answer = read(answered[call_id].response, request.auth_config, call_id)
        if answer is not None:
            await _accept(ctx, call_id, request.auth_config, answer)
        if not request.function_call_id.startswith(TOOLSET):
            call_ids.add(request.function_call_id)
    return call_ids


def _requests(ctx: InvocationContext, ids: set[str | None], *, own: bool = False) -> dict[str, tuple[int, Question]]:
    """The credential requests with these ids, each with its position; with `own`, only the running agent's."""
    by_id: dict[str, tuple[int, Question]] = {}
    for position, question in find_questions(Log(ctx.session.events), ids - {None}):
        if question.kind is Kind.CREDENTIAL and not (own and not _is_own(ctx, question)):
            by_id.setdefault(question.id, (position, question))
    return by_id


def _is_own(ctx: InvocationContext, question: Question) -> bool:
    if ctx.branch not in (None, question.branch):  # an answer may run an agent by itself, although it asked in a branch
        return False
    return question.author == ctx.agent.name and question.scope == ctx.isolation_scope


async def _accept(ctx: InvocationContext, call_id: str, request: AuthConfig, answer: AuthCredential) -> None:
    recorded, key = settings_of(ctx).recorded, request.credential_key or ""
    issued_credential = await pending.take(ctx, call_id, request)
    issued = issued_credential or request.exchanged_auth_credential or request.raw_auth_credential
    try:
        credential = AuthHandler(request).accept(answer, issued)
    except AuthConfigError as error:
        logger.warning("%s", error)
        return
    if credential is None:
        if not recorded:
            return
        credential = answer  # the recorded releases pass on an empty answer, too
    note(ctx, credential)
    ctx.stash[STORED].discard(key)
    if credential.oauth2 is not None and credential.oauth2.auth_code and not credential.oauth2.access_token:
        exchanged = await _exchanged(ctx, request, credential)
        if exchanged is None and not recorded:
            if issued_credential is None:
                ctx.stash[UNEXCHANGED][key] = answer  # the tool's own config may have the missing secrets
                ctx.stash[FAILURES].pop(key, None)
            return
        credential = exchanged or credential
        note(ctx, credential)
    ctx.stash[CREDENTIALS][key] = credential
    if recorded:
        ctx.session.state[f"temp:{key}"] = credential


async def _exchanged(ctx: InvocationContext, request: AuthConfig, credential: AuthCredential) -> AuthCredential | None:
    try:
        settings = settings_of(ctx)
        offered = await with_end_points(request.auth_scheme, policy_of(settings))
        scheme = chosen(request, offered, recorded=settings.recorded)
        exchanger = exchanger_of(ctx.composition, credential.auth_type, required=True)
        result = await exchanger.exchange(credential, scheme)
        return result.credential if result.was_exchanged else None
    except (CredentialExchangeError, ConfigurationError, FeatureUnavailableError) as error:
        logger.warning("the answer for the credential %r gives no token: %s", request.credential_key, error)
        if not (isinstance(error, CredentialExchangeError) and error.user_can_help):
            ctx.stash[FAILURES][request.credential_key or ""] = error  # raised at the tool's next request
        return None
