"""Auth providers: which ones are asked for a credential, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from newel.auth.auth_provider_registry import AuthProviderRegistry
from newel.auth.base_auth_provider import BaseAuthProvider
from newel.auth.errors import CredentialError
from newel.auth.kinds import AuthProvider
from newel_kernel import Chains, Context, InvocationContext, Key
from newel_types import AuthConfig, AuthCredential, AuthScheme

#: The providers that code registered for the whole process.
shared = AuthProviderRegistry()
_OF_PLUGINS = Key[AuthProviderRegistry]("the auth providers of plugins")


async def ask(auth_config: AuthConfig, context: Context) -> AuthCredential | None:
    """The credential of the first provider that has one."""
    for provider in providers_of(auth_config.auth_scheme, context.get_invocation_context()):
        problem = ""
        try:
            credential = await provider.get_auth_credential(auth_config, context)
        except Exception as error:  # noqa: BLE001 - a plugin boundary; its text may hold a secret, so only its type is shown
            problem = type(error).__name__
        if problem:
            raise CredentialError(
                f"the auth provider {type(provider).__module__}.{type(provider).__qualname__} failed with {problem} "
                f"for the credential {auth_config.credential_key!r}; it should return None for what it cannot give"
            )
        if credential is not None:
            return AuthCredential.model_validate(credential)
    return None


def providers_of(scheme: AuthScheme, ctx: InvocationContext) -> Iterator[BaseAuthProvider]:
    """The providers of a scheme, each once: the app's, then the process's, then those of the composition's plugins."""
    ids: set[int] = set()
    for registry in _registries(ctx):
        for provider in registry.get_providers(scheme):
            if id(provider) not in ids:
                ids.add(id(provider))
                yield provider


def _registries(ctx: InvocationContext) -> Iterator[AuthProviderRegistry]:
    of_app: AuthProviderRegistry | None = getattr(ctx.app, "auth_provider_registry", None)
    if of_app is not None:
        yield of_app
    yield shared
    yield _of_plugins(ctx.composition)


def _of_plugins(chains: Chains) -> AuthProviderRegistry:
    """The plugins' providers, made at the first request that no provider before them answers."""
    registry = chains.stash.get(_OF_PLUGINS, None)
    if registry is None:
        registry = AuthProviderRegistry()
        for maker in reversed(chains.registry.all(AuthProvider)):  # a registry asks the one registered last first
            registry.register(maker.instance(chains))
        chains.stash[_OF_PLUGINS] = registry
    return registry
