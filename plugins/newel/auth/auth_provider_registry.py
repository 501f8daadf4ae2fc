"""AuthProviderRegistry: which providers are asked for the credentials of a scheme, before anything else."""

from __future__ import annotations

from newel.auth.base_auth_provider import BaseAuthProvider
from newel_kernel import ConfigurationError
from newel_types import AuthScheme


class AuthProviderRegistry:
    """Providers by the exact class of scheme. The one registered last comes first; the others are asked after it."""

    def __init__(self) -> None:
        self._providers: dict[type[AuthScheme], list[BaseAuthProvider]] = {}

    def register(
        self, auth_scheme_type: type[AuthScheme] | BaseAuthProvider, provider_instance: BaseAuthProvider | None = None
    ) -> None:
        """Register a provider for a class of scheme; given alone, for its `supported_auth_schemes`."""
        if provider_instance is not None:
            self._add(auth_scheme_type, provider_instance)
            return
        schemes = () if isinstance(auth_scheme_type, type) else getattr(auth_scheme_type, "supported_auth_schemes", ())
        if isinstance(auth_scheme_type, type) or not schemes:
            raise ConfigurationError(
                f"{auth_scheme_type!r} names no scheme: set its supported_auth_schemes, or call "
                "register(scheme, provider)"
            )
        for scheme in schemes:
            self._add(scheme, auth_scheme_type)

    def _add(self, scheme: object, provider: BaseAuthProvider) -> None:
        if not isinstance(scheme, type):
            raise ConfigurationError(f"a provider is registered for a class of scheme, not for {scheme!r}")
        providers = self._providers.setdefault(scheme, [])
        if provider in providers:
            providers.remove(provider)
        providers.insert(0, provider)

    def get_provider(self, auth_scheme: AuthScheme | type[AuthScheme]) -> BaseAuthProvider | None:
        """The provider that is asked first for a scheme (or its class), or None."""
        providers = self.get_providers(auth_scheme)
        return providers[0] if providers else None

    def get_providers(self, auth_scheme: AuthScheme | type[AuthScheme]) -> tuple[BaseAuthProvider, ...]:
        """The providers of a scheme (or of its class), in the order in which they are asked."""
        kind = auth_scheme if isinstance(auth_scheme, type) else type(auth_scheme)
        return tuple(self._providers.get(kind, ()))
