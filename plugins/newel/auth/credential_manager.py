"""CredentialManager: finds the credential of a tool, or asks the user for it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from newel.auth import providers
from newel.auth.auth_handler import AuthHandler
from newel.auth.base_auth_provider import BaseAuthProvider
from newel.auth.completion import finishing
from newel.auth.credential_service import renewal
from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel.auth.environment import from_environment
from newel.auth.errors import CredentialExchangeError, CredentialRefresherError
from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger
from newel.auth.exchanger.credential_exchanger_registry import CredentialExchangerRegistry
from newel.auth.grants import chosen
from newel.auth.kinds import exchanger_of, refresher_of
from newel.auth.oauth2_discovery import with_end_points
from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher
from newel.auth.refresher.credential_refresher_registry import CredentialRefresherRegistry
from newel.auth.secrecy import remember
from newel.auth.settings import settings_of
from newel.auth.stash_keys import CONSENTS, FAILURES, STORED, UNEXCHANGED
from newel.auth.token_endpoint import LEEWAY, grant_of, policy_of, seconds_left
from newel.contexts.context import CallbackContext
from newel.contexts.stash_keys import CREDENTIALS
from newel_kernel import seam
from newel_types import AuthConfig, AuthCredential, AuthCredentialTypes, AuthScheme, OAuthGrantType

logger = logging.getLogger(__name__)

#: Where the exchanger lives that leaves a credential with a token alone.
_BUILT_IN = "newel.auth.exchanger.oauth2_credential_exchanger"
_CONSENTED = (AuthCredentialTypes.OAUTH2, AuthCredentialTypes.OPEN_ID_CONNECT)


class CredentialManager:
    """Finds the credential for one AuthConfig.

    It looks in this order: the auth providers, the user's answer in this invocation, the app's own credential, the
    credential service, the environment. If none has it, the user is asked. Codes are exchanged for tokens and expired
    tokens are refreshed on the way. Specified in docs/reference/behaviour.md#credentials.
    """

    def __init__(self, auth_config: AuthConfig) -> None:
        self._auth_config = auth_config
        self._exchangers = CredentialExchangerRegistry()
        self._refreshers = CredentialRefresherRegistry()

    @classmethod
    def register_auth_provider(cls, provider: BaseAuthProvider) -> None:
        """Register a provider, for its `supported_auth_schemes`, for the whole process."""
        providers.shared.register(provider)

    def register_credential_exchanger(
        self, credential_type: AuthCredentialTypes, exchanger_instance: BaseCredentialExchanger
    ) -> None:
        """Let `exchanger_instance` exchange this manager's credentials of a type, instead of the plugins' exchanger."""
        self._exchangers.register(credential_type, exchanger_instance)

    def register_credential_refresher(
        self, credential_type: AuthCredentialTypes, refresher_instance: BaseCredentialRefresher
    ) -> None:
        """Let `refresher_instance` renew this manager's credentials of a type, instead of the plugins' refresher."""
        self._refreshers.register(credential_type, refresher_instance)

    async def get_or_request(self, context: CallbackContext) -> AuthCredential | None:
        """The credential, or None after the user has been asked for it."""
        credential = await self.get_auth_credential(context)
        if credential is None:
            await self.request_credential(context)
        return credential

    async def request_credential(self, context: CallbackContext) -> None:
        """Ask the user; raises AuthConfigError if the config lacks something that the request needs."""
        config = self.request_config(context)
        AuthHandler(config).check()
        context.request_credential(config)

    def request_config(self, context: CallbackContext) -> AuthConfig:
        """The config to ask the user for, with the consent that a provider wants, if any."""
        consent = context.get_invocation_context().stash[CONSENTS].get(self._auth_config.credential_key)
        update = {"exchanged_auth_credential": consent} if consent else None
        return self._auth_config.model_copy(deep=True, update=update)

    async def get_auth_credential(self, context: CallbackContext) -> AuthCredential | None:
        """The credential, ready for use, or None: then the user must be asked."""
        credential = await providers.ask(self._auth_config, context)
        if credential is not None and _needs_consent(credential):
            context.get_invocation_context().stash[CONSENTS][self._auth_config.credential_key] = credential
            credential = None
        if credential is None:
            credential = await self._ready(context) or await self._renewed(context)
        if credential is not None:
            remember(context, credential)
        return credential

    async def _ready(self, context: CallbackContext) -> AuthCredential | None:
        """The credential of this invocation, or of the store, that needs neither an exchange nor a renewal.

        It is not waited for: a renewal that is stuck elsewhere stops nobody whose token is valid.
        """
        config, ctx = self._auth_config, context.get_invocation_context()
        key = config.credential_key or ""
        if key in ctx.stash[FAILURES] or (key not in ctx.stash[STORED] and key in ctx.stash[CREDENTIALS]):
            return None
        known = ctx.stash[CREDENTIALS].get(key)
        if known is None and ctx.credential_service is not None and not ctx.stash[UNEXCHANGED].get(key):
            if _is_ready(config.raw_auth_credential):
                return None
            known = await context.load_credential(config)
        if known is None or known.auth_type not in _CONSENTED or not _has_token(known):
            return None
        refresher = self._refreshers.get_refresher(known.auth_type) or refresher_of(ctx.composition, known.auth_type)
        seconds = seconds_left(known.oauth2) if known.oauth2 is not None else None
        if (seconds is not None and seconds < LEEWAY) or refresher is None or self._exchanges(known, context):
            return None
        if await refresher.is_refresh_needed(known, config.auth_scheme):
            return None
        ctx.stash[CREDENTIALS][key] = known
        ctx.stash[STORED].add(key)
        return known

    def _exchanges(self, credential: AuthCredential, context: CallbackContext) -> bool:
        """Whether an exchanger may want a credential that has a token."""
        kind, chains = credential.auth_type, context.get_invocation_context().composition
        exchanger = self._exchangers.get_exchanger(kind) or exchanger_of(chains, kind)
        return exchanger is not None and type(exchanger).__module__ != _BUILT_IN

    async def _renewed(self, context: CallbackContext) -> AuthCredential | None:
        """The credential, renewed if need be by one caller at a time.

        What a cancelled caller has begun goes on without it: a provider that has spent the old refresh token has
        given a new one, which must be saved.
        """
        right = AsyncExitStack()
        await right.enter_async_context(self._renewal(context))
        work = seam.spawn(self._resolve_alone(right, context), name="renewal of a credential")
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(_report)
            raise

    async def _resolve_alone(self, right: AsyncExitStack, context: CallbackContext) -> AuthCredential | None:
        async with right:
            with finishing():
                return await self._resolve(context)

    def _renewal(self, context: CallbackContext) -> AbstractAsyncContextManager[None]:
        """The sole right to renew the credential: the store's, if it has one, else this process's."""
        service = context.get_invocation_context().credential_service
        if isinstance(service, BaseCredentialService):
            return service.renewal(self._auth_config, context)
        key = (context.session.app_name, context.user_id, self._auth_config.credential_key or "")
        return renewal.shared.hold(key)

    async def _resolve(self, context: CallbackContext) -> AuthCredential | None:
        config, ctx = self._auth_config, context.get_invocation_context()
        key, raw = config.credential_key or "", config.raw_auth_credential
        if (failure := ctx.stash[FAILURES].pop(key, None)) is not None:
            raise failure
        answer = ctx.stash[CREDENTIALS].get(key) or self._unexchanged_answer(context)
        if answer is None and _is_ready(raw):
            return raw.model_copy(deep=True) if raw is not None else None
        settings = settings_of(context)
        offered = await with_end_points(config.auth_scheme, policy_of(settings))
        scheme = chosen(config, offered, recorded=settings.recorded)
        stored = await context.load_credential(config) if ctx.credential_service is not None else None
        is_copy = answer is not None and ctx.credential_service is not None and key in ctx.stash[STORED]
        if answer is not None and not (is_copy and answer.auth_type in _CONSENTED):
            return await self._take("answer", answer, scheme, context)
        if stored is None:
            ctx.stash[CREDENTIALS].pop(key, None)  # somebody else has found it to be of no use, or deleted it
        if stored is not None and (usable := await self._take_stored(stored, scheme, context)) is not None:
            return usable
        variable = from_environment(config, settings)
        if variable is not None and (usable := await self._take("environment", variable, scheme, context)) is not None:
            return usable
        app_credential = self._app_credential(scheme)
        return await self._take("app", app_credential, scheme, context) if app_credential is not None else None

    async def _take_stored(
        self, stored: AuthCredential, scheme: AuthScheme, context: CallbackContext
    ) -> AuthCredential | None:
        """The stored credential, usable; one that is of no use is deleted, but never what was saved in its place."""
        if (usable := await self._take("store", stored, scheme, context)) is not None:
            return usable
        other = await context.load_credential(self._auth_config)
        if other is not None and other != stored:
            return await self._take("store", other, scheme, context)
        await self._save(None, context)
        return None

    async def _take(
        self, source: str, credential: AuthCredential, scheme: AuthScheme, context: CallbackContext
    ) -> AuthCredential | None:
        """Make the credential usable, keep it for the rest of the invocation, and store it if it is the user's."""
        ctx, key = context.get_invocation_context(), self._auth_config.credential_key or ""
        usable = await self._usable(credential, scheme, context)
        if usable is None:
            ctx.stash[CREDENTIALS].pop(key, None)
            return None
        if source == "app" and usable is credential:
            return usable.model_copy(deep=True)  # the config's own token, which has no key of its own
        ctx.stash[CREDENTIALS][key] = usable
        ctx.stash[UNEXCHANGED].pop(key, None)
        is_new = usable is not credential and usable.auth_type in _CONSENTED
        was_answered = source == "answer" and key not in ctx.stash[STORED]
        if is_new or was_answered:
            await self._save(usable, context)
        ctx.stash[STORED].add(key)
        return usable

    async def _save(self, credential: AuthCredential | None, context: CallbackContext) -> None:
        if context.get_invocation_context().credential_service is not None:
            saved = self._auth_config.model_copy(update={"exchanged_auth_credential": credential})
            await context.save_credential(saved)

    def _unexchanged_answer(self, context: CallbackContext) -> AuthCredential | None:
        """An answer that could not be exchanged when it came: the request's own secrets were not available."""
        key = self._auth_config.credential_key or ""
        answer = context.get_invocation_context().stash[UNEXCHANGED].get(key)
        if answer is None:
            return None
        return AuthHandler(self._auth_config).accept(answer, self._auth_config.raw_auth_credential)

    def _app_credential(self, scheme: AuthScheme) -> AuthCredential | None:
        """The app's own credential, if it gets tokens without the user."""
        raw = self._auth_config.raw_auth_credential
        if raw is None:
            return None
        for_app = raw.service_account is not None or grant_of(scheme) is OAuthGrantType.CLIENT_CREDENTIALS
        has_token = raw.oauth2 is not None and raw.oauth2.access_token
        return raw if for_app or has_token else None

    async def _usable(
        self, credential: AuthCredential, scheme: AuthScheme, context: CallbackContext
    ) -> AuthCredential | None:
        """The credential with a valid token; None if only the user can give a new one."""
        kind, chains = credential.auth_type, context.get_invocation_context().composition
        try:
            exchanger = self._exchangers.get_exchanger(kind) or exchanger_of(
                chains, kind, required=_needs_exchange(credential)
            )
            if exchanger is not None:
                credential, exchanged = await exchanger.exchange(credential, scheme)
                if exchanged:
                    return credential
            refresher = self._refreshers.get_refresher(kind) or refresher_of(
                chains, kind, required=_is_expired(credential)
            )
            if refresher is not None and await refresher.is_refresh_needed(credential, scheme):
                credential = await _renew(refresher, credential, scheme)
        except CredentialExchangeError as error:
            if not error.user_can_help:
                raise
            logger.warning("discarded the credential %r: %s", self._auth_config.credential_key, error)
            return None
        return None if kind in _CONSENTED and not _has_token(credential) else credential


def _report(work: asyncio.Task[AuthCredential | None]) -> None:
    """Log the failure of a renewal whose caller was cancelled."""
    if not work.cancelled() and (error := work.exception()) is not None:
        logger.warning("a renewal that nobody waits for any more has failed: %s", type(error).__name__)


async def _renew(refresher: BaseCredentialRefresher, credential: AuthCredential, scheme: AuthScheme) -> AuthCredential:
    try:
        return await refresher.refresh(credential, scheme)
    except CredentialRefresherError as error:
        seconds = seconds_left(credential.oauth2) if credential.oauth2 is not None else None
        if not error.user_can_help and seconds is not None and seconds > 0:
            return credential  # it still works, and the next call tries again
        raise


def _is_ready(credential: AuthCredential | None) -> bool:
    """Whether a credential can be used unchanged."""
    kinds = (AuthCredentialTypes.API_KEY, AuthCredentialTypes.HTTP)
    return credential is not None and credential.auth_type in kinds and any(credential.secrets())


def _has_token(credential: AuthCredential) -> bool:
    return credential.oauth2 is not None and bool(credential.oauth2.access_token)


def _needs_exchange(credential: AuthCredential) -> bool:
    """Whether a credential must be exchanged before use."""
    kind = credential.auth_type
    return kind is AuthCredentialTypes.SERVICE_ACCOUNT or (kind in _CONSENTED and not _has_token(credential))


def _is_expired(credential: AuthCredential) -> bool:
    seconds = seconds_left(credential.oauth2) if credential.oauth2 is not None else None
    return seconds is not None and seconds <= 0


def _needs_consent(credential: AuthCredential) -> bool:
    return credential.oauth2 is not None and not credential.oauth2.access_token and bool(credential.oauth2.auth_uri)
