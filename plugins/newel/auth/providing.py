"""Providing: the auth providers that an invocation has, asked one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from newel.auth.auth_provider_registry import AuthProviderRegistry
from newel.auth.errors import CredentialError
from newel_kernel import Context
from newel.auth.kinds import AuthProvider
from newel_types import AuthConfig, AuthCredential

#: Those that code registered for the whole process.
shared = AuthProviderRegistry()


async def provided(auth_config: AuthConfig, context: Context) -> AuthCredential | None:
    """What the first provider gives that has something: the app's, then the process's, then the plugins'."""
    for provider in providers_of(auth_config, context):
        problem = ""
        try:
            found: Any = await provider.get_auth_credential(auth_config, context)
        except Exception as error:  # noqa: BLE001 - a plugin boundary; its text may hold a secret, so only its type is told
            problem = type(error).__name__
        if problem:
            raise CredentialError(
                f"the auth provider {type(provider).__module__}.{type(provider).__qualname__} failed with {problem} "
                f"for the credential {auth_config.credential_key!r}; it should return None for what it cannot give"
            )
        if found is not None:
            return AuthCredential.model_validate(found)
    return None


def providers_of(auth_config: AuthConfig, context: Context) -> Iterator[Any]:
    """The providers of the scheme, in the order in which they are asked, each once."""
    ctx = context.get_invocation_context()
    scheme, seen = auth_config.auth_scheme, set()
    for registry in (getattr(ctx.app, "auth_provider_registry", None), shared):
        for provider in registry.get_providers(scheme) if registry is not None else ():
            if id(provider) not in seen:
                seen.add(id(provider))
                yield provider
    for factory in ctx.composition.all("AuthProvider"):
        provider = _made(factory)
        if type(scheme) in provider.supported_auth_schemes and id(provider) not in seen:
            yield provider


@cache
def _made(factory: AuthProvider) -> Any:
    return factory.create()
