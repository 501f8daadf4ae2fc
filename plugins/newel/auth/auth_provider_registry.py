"""AuthProviderRegistry: which providers are asked for the credentials of a scheme, before anything else."""

from __future__ import annotations

from typing import Any

from newel.auth.base_auth_provider import BaseAuthProvider
from newel_kernel import ConfigurationError
from newel_types import AuthScheme


class AuthProviderRegistry:
    """Providers by the exact class of scheme. The one registered last comes first; the others are asked after it."""

    def __init__(self) -> None:
        self._providers: dict[type[Any], list[BaseAuthProvider]] = {}

    def register(
        self, auth_scheme_type: type[AuthScheme] | BaseAuthProvider, provider_instance: BaseAuthProvider | None = None
    ) -> None:
        """Register a provider for a class of scheme; given alone, for its `supported_auth_schemes`."""
        if provider_instance is not None:
            self._add(auth_scheme_type, provider_instance)
            return
        provider: Any = auth_scheme_type
        schemes = getattr(provider, "supported_auth_schemes", None)
        if not schemes or isinstance(provider, type):
            raise ConfigurationError(
                f"{provider!r} names no scheme: set its supported_auth_schemes, or call register(scheme, provider)"
            )
        for scheme in schemes:
            self._add(scheme, provider)

    def _add(self, scheme: Any, provider: BaseAuthProvider) -> None:
        if not isinstance(scheme, type):
            raise ConfigurationError(f"a provider is registered for a class of scheme, not for {scheme!r}")
        known = self._providers.setdefault(scheme, [])
        if provider in known:
            known.remove(provider)
        known.insert(0, provider)

    def get_provider(self, auth_scheme: AuthScheme | type[AuthScheme]) -> BaseAuthProvider | None:
        """The provider that is asked first for a scheme (or its class), or None."""
        providers = self.get_providers(auth_scheme)
        return providers[0] if providers else None

    def get_providers(self, auth_scheme: AuthScheme | type[AuthScheme]) -> tuple[BaseAuthProvider, ...]:
        """The providers of a scheme (or of its class), in the order in which they are asked."""
        kind = auth_scheme if isinstance(auth_scheme, type) else type(auth_scheme)
        return tuple(self._providers.get(kind, ()))
