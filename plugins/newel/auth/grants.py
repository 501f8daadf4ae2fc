"""Grants: by which of the flows that a scheme offers its credential is obtained."""

from __future__ import annotations

from newel.auth.errors import AuthConfigError
from newel_types import AuthConfig, AuthScheme, OAuth2, OAuthFlows, OAuthGrantType, OpenIdConnectWithConfig

_FLOWS = {
    "authorizationCode": OAuthGrantType.AUTHORIZATION_CODE,
    "implicit": OAuthGrantType.IMPLICIT,
    "clientCredentials": OAuthGrantType.CLIENT_CREDENTIALS,
    "password": OAuthGrantType.PASSWORD,
}
#: The grants of a user's consent, and the one that asks nobody.
_CONSENT = {OAuthGrantType.AUTHORIZATION_CODE, OAuthGrantType.IMPLICIT}
_FOR_APP = OAuthGrantType.CLIENT_CREDENTIALS


def chosen(config: AuthConfig, scheme: AuthScheme, *, recorded: bool) -> AuthScheme:
    """`scheme` with only the flows of the config's `grant`; without one, a consent goes before the app's own token.

    What a server offers does not say for whom the app wants to act. `recorded`: without a choice the scheme stays
    whole, as in the recorded releases. Raises AuthConfigError if the scheme does not offer the grant.
    """
    if not isinstance(scheme, (OAuth2, OpenIdConnectWithConfig)):
        return scheme
    offered = _offered(scheme)
    if config.grant is not None:
        if config.grant not in offered:
            known = ", ".join(sorted(grant.value for grant in offered)) or "none"
            raise AuthConfigError(
                f"the {type(scheme).__name__} scheme of the credential {config.credential_key!r} does not offer the "
                f"grant {config.grant.value!r}; AuthConfig.grant may be one of: {known}"
            )
        return _only(scheme, {config.grant})
    if recorded or _FOR_APP not in offered or not offered & _CONSENT:
        return scheme
    return _only(scheme, offered - {_FOR_APP})


def _offered(scheme: OAuth2 | OpenIdConnectWithConfig) -> set[OAuthGrantType]:
    if isinstance(scheme, OAuth2):
        return {grant for name, grant in _FLOWS.items() if getattr(scheme.flows, name) is not None}
    listed = scheme.grant_types_supported
    if listed is None:  # the server does not say
        return {OAuthGrantType.AUTHORIZATION_CODE, _FOR_APP} if scheme.authorization_endpoint else {_FOR_APP}
    known = {grant for grant in _FLOWS.values() if grant.value in listed}
    return known if scheme.authorization_endpoint else known - _CONSENT


def _only(scheme: OAuth2 | OpenIdConnectWithConfig, grants: set[OAuthGrantType]) -> AuthScheme:
    if isinstance(scheme, OAuth2):
        kept = {name: getattr(scheme.flows, name) for name, grant in _FLOWS.items() if grant in grants}
        return scheme.model_copy(update={"flows": OAuthFlows(**kept)})
    return scheme.model_copy(update={"grant_types_supported": sorted(grant.value for grant in grants)})
