"""SignIn: the credentials of one call, found, or asked for from the user."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Self

from newel.auth.credential_manager import CredentialManager
from newel.auth.secrecy import guarded, note
from newel.contexts.context import Context
from newel.contexts.stash_keys import CREDENTIALS
from newel.openapi.errors import ArgumentError
from newel.openapi.request import Keys
from newel.openapi.security import keys_of
from newel_kernel import NewelError
from newel_types import AuthConfig, AuthCredential, AuthCredentialTypes

#: What the names of headers that hold secrets have in them.
_SECRET_NAMES = ("auth", "cookie", "key", "secret", "session", "token")


class SignIn:
    """Finds the credentials of a call; keeps in mind which ones it has used."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._used: list[tuple[AuthConfig, AuthCredential]] = []

    @classmethod
    def using(cls, context: Context, config: AuthConfig, credential: AuthCredential) -> Self:
        """The sign-in of a call that has used this credential."""
        sign_in = cls(context)
        sign_in._used = [(config, credential)]
        return sign_in

    async def keys(self, alternatives: Sequence[Sequence[AuthConfig]], place: str) -> Keys | None:
        """What the credentials of the first complete alternative add to the request; None if the user was asked.

        Raises ArgumentError if there is no credential, and none can be asked for.
        """
        failures: list[str] = []
        for alternative in alternatives:
            if alternative and (found := await self._all(alternative, failures)) is not None:
                self._used = found
                return keys_of([(config.auth_scheme, credential) for config, credential in found])
        if not all(alternatives):
            return Keys()
        for alternative in alternatives:
            if await self._ask(alternative, failures):
                return None
        raise ArgumentError(f"{place} needs a credential: {'; '.join(dict.fromkeys(failures))}")

    async def _all(
        self, configs: Sequence[AuthConfig], failures: list[str]
    ) -> list[tuple[AuthConfig, AuthCredential]] | None:
        found: list[tuple[AuthConfig, AuthCredential]] = []
        for config in configs:
            try:
                credential = await CredentialManager(config).get_auth_credential(self._context)
            except NewelError as error:
                failures.append(str(error))
                return None
            if credential is None:
                return None
            found.append((config, credential))
        return found

    async def _ask(self, configs: Sequence[AuthConfig], failures: list[str]) -> bool:
        """Ask for the first credential that is missing; the next one is asked for when the call runs again."""
        for config in configs:
            manager = CredentialManager(config)
            try:
                if await manager.get_auth_credential(self._context) is None:
                    await manager.request_credential(self._context)
                    return True
            except NewelError as error:
                failures.append(str(error))
                return False
        return False

    async def forget(self) -> bool:
        """Drop credentials that the server has refused; whether another one can now be asked for or made."""
        dropped = False
        for config, credential in self._used:
            if config.raw_auth_credential is not None and config.raw_auth_credential.auth_type in (
                AuthCredentialTypes.API_KEY,
                AuthCredentialTypes.HTTP,
            ):
                continue
            ctx = self._context.get_invocation_context()
            ctx.stash[CREDENTIALS].pop(config.credential_key or "", None)
            if ctx.credential_service is not None:
                left = config.model_copy(update={"exchanged_auth_credential": _to_renew(credential)})
                await self._context.save_credential(left)
            try:
                now = await CredentialManager(config).get_auth_credential(self._context)
            except NewelError:
                now = None
            dropped = dropped or now != credential
        return dropped

    async def guarded(self, answer: Awaitable[object]) -> object:
        """The result, with the secrets of the call masked."""
        return await guarded(self._context, answer)

    def note_headers(self, headers: Mapping[str, str]) -> None:
        """Take the values of headers that are named like secrets for secrets."""
        for name, value in headers.items():
            if any(part in name.lower() for part in _SECRET_NAMES):
                note(
                    self._context.get_invocation_context(),
                    AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=value.rpartition(" ")[2]),
                )
                _ = self._context.actions  # marks the call's result as one to mask


def _to_renew(credential: AuthCredential) -> AuthCredential | None:
    """A token that can be renewed, as one that has expired; None for any other credential."""
    oauth2 = credential.oauth2
    if oauth2 is None or not oauth2.refresh_token:
        return None
    return credential.model_copy(update={"oauth2": oauth2.model_copy(update={"expires_at": 1, "expires_in": None})})
