"""What a scheme offers does not decide for whom an app acts: the user is asked, unless the config chooses otherwise."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest

from newel.auth import AuthConfig, AuthCredential, OAuth2Auth, OpenIdConnectWithConfig
from newel.auth.auth_schemes import (
    OAuth2,
    OAuthFlowAuthorizationCode,
    OAuthFlowClientCredentials,
    OAuthFlowImplicit,
    OAuthFlowPassword,
    OAuthFlows,
    OAuthGrantType,
)
from newel.auth.errors import AuthConfigError
from newel.auth.grants import chosen
from newel.auth.token_endpoint import grant_of
from newel.tools import AuthenticatedFunctionTool

AUTH, TOKEN = "https://id.example/auth", "https://id.example/token"
FLOWS: dict[str, Any] = {
    "authorizationCode": OAuthFlowAuthorizationCode(authorizationUrl=AUTH, tokenUrl=TOKEN),
    "implicit": OAuthFlowImplicit(authorizationUrl=AUTH),
    "clientCredentials": OAuthFlowClientCredentials(tokenUrl=TOKEN),
    "password": OAuthFlowPassword(tokenUrl=TOKEN),
}
GRANTS = dict(zip(FLOWS, ("authorization_code", "implicit", "client_credentials", "password"), strict=True))
SUBSETS = list(chain.from_iterable(combinations(FLOWS, size) for size in range(5)))


def schemes(names: tuple[str, ...]) -> list[Any]:
    listed = [GRANTS[name] for name in names]
    return [
        OAuth2(flows=OAuthFlows(**{name: FLOWS[name] for name in names})),
        OpenIdConnectWithConfig(authorization_endpoint=AUTH, token_endpoint=TOKEN, grant_types_supported=listed),
    ]


@pytest.mark.parametrize("names", SUBSETS, ids="+".join)
def test_the_apps_own_token_is_taken_only_where_no_user_can_be_asked(names: tuple[str, ...]) -> None:
    consent = {"authorizationCode", "implicit"} & set(names)
    for scheme in schemes(names):
        config = AuthConfig(auth_scheme=scheme)
        taken = grant_of(chosen(config, scheme, recorded=False))
        assert (taken is OAuthGrantType.CLIENT_CREDENTIALS) == ("clientCredentials" in names and not consent)
        assert chosen(config, scheme, recorded=True) is scheme


@pytest.mark.parametrize("grant", ["authorization_code", "client_credentials"])
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("names", SUBSETS, ids="+".join)
def test_the_config_chooses_among_what_is_offered(names: tuple[str, ...], recorded: bool, grant: str) -> None:
    for scheme in schemes(names):
        config = AuthConfig(auth_scheme=scheme, grant=grant)
        if grant in {GRANTS[name] for name in names}:
            assert grant_of(chosen(config, scheme, recorded=recorded)) == grant
        else:
            with pytest.raises(AuthConfigError, match=f"does not offer the grant '{grant}'"):
                chosen(config, scheme, recorded=recorded)


def test_the_users_and_the_apps_credential_have_different_keys() -> None:
    scheme = schemes(("authorizationCode", "clientCredentials"))[0]
    keys = {AuthConfig(auth_scheme=scheme, grant=one).credential_key for one in (None, *GRANTS.values())}
    assert len(keys) == 5


@pytest.mark.parametrize("grant", [None, "client_credentials"])
@pytest.mark.parametrize("form", [0, 1], ids=["OpenAPI", "OIDC"])
def test_a_tool_runs_with_the_apps_token_only_if_its_config_says_so(
    converse: Any, kit: Any, server: Any, house: Any, form: int, grant: str | None
) -> None:
    auth, token = f"{server.url}/auth", f"{server.url}/token"
    flows = OAuthFlows(
        authorizationCode=OAuthFlowAuthorizationCode(authorizationUrl=auth, tokenUrl=token, scopes={"read": ""}),
        clientCredentials=OAuthFlowClientCredentials(tokenUrl=token),
    )
    both = ["authorization_code", "client_credentials"]
    oidc = OpenIdConnectWithConfig(authorization_endpoint=auth, token_endpoint=token, grant_types_supported=both)
    client = OAuth2Auth(client_id="client", client_secret="client-secret", redirect_uri=server.redirect_uri)
    raw = AuthCredential(auth_type="oauth2", oauth2=client)
    config = AuthConfig(auth_scheme=[OAuth2(flows=flows), oidc][form], raw_auth_credential=raw, grant=grant)
    ran: list[str] = []

    def act(credential: AuthCredential) -> str:
        """Act."""
        ran.append(credential.oauth2.access_token)
        return "done"

    talk = converse(house(), [AuthenticatedFunctionTool(act, auth_config=config)])
    events = talk.say()
    calls = kit.asked(events)
    if grant is None:
        assert (len(calls), ran, server.requests) == (1, [], [])
        talk.answer(calls[0], kit.consented(server, calls[0]))
    else:
        assert calls == []
    assert len(ran) == 1
    assert [one["grant_type"] for one in server.requests] == [grant or "authorization_code"]
