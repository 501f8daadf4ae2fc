"""Schemes and credentials: JSON as OpenAPI and google-adk have it, keys that are stable, and no secret in any repr."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from newel.auth import AuthConfig, AuthCredential, HttpAuth, HttpCredentials, OAuth2Auth, ServiceAccount
from newel.auth.auth_credential import ServiceAccountCredential
from newel.auth.auth_schemes import (
    APIKey,
    CustomAuthScheme,
    ExtendedOAuth2,
    HTTPBase,
    HTTPBearer,
    OAuth2,
    OAuthFlows,
    OAuthGrantType,
    OpenIdConnect,
    OpenIdConnectWithConfig,
)

SECRET = "canary-5e1f"
ENDS = {"authorization_endpoint": "https://a.example/auth", "token_endpoint": "https://a.example/token"}
ACCOUNT = ServiceAccountCredential(
    type_="service_account",
    project_id="p",
    private_key_id=SECRET,
    private_key=SECRET,
    client_email="e",
    client_id="i",
    auth_uri="u",
    token_uri="t",
    auth_provider_x509_cert_url="x",
    client_x509_cert_url="y",
    universe_domain="z",
)
CREDENTIALS = [
    AuthCredential(auth_type="apiKey", api_key=SECRET),
    AuthCredential(auth_type="http", http=HttpAuth(scheme="basic", credentials=HttpCredentials(password=SECRET))),
    AuthCredential(
        auth_type="http",
        http=HttpAuth(scheme="x", credentials=HttpCredentials(token=SECRET), additional_headers={"X": SECRET}),
    ),
    AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(**dict.fromkeys(sorted(OAuth2Auth.secret_fields), SECRET))),
    AuthCredential(auth_type="serviceAccount", service_account=ServiceAccount(service_account_credential=ACCOUNT)),
    AuthCredential(auth_type="apiKey", resource_ref="r", vendor_field=SECRET),
    AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(vendor_field={"deep": [SECRET]})),
]


@pytest.mark.parametrize("credential", CREDENTIALS)
def test_no_secret_shows_but_on_the_wire(credential: AuthCredential) -> None:
    config = AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=credential, exchanged_auth_credential=credential)
    for shown in (repr(credential), str(credential), f"{config!r}", str(config), str([config]), config.credential_key):
        assert SECRET not in str(shown)
    assert SECRET in credential.model_dump_json()
    assert SECRET in set(credential.secrets())
    sealed = config.sealed()
    assert SECRET not in sealed.model_dump_json()
    assert AuthConfig.model_validate_json(sealed.model_dump_json(by_alias=True, exclude_none=True)) == sealed
    assert SECRET in config.model_dump_json()  # sealing made a copy


@pytest.mark.parametrize(
    "values",
    [
        {"authType": SECRET},
        {"authType": "apiKey", "apiKey": {"x": SECRET}},
        {"authType": "http", "http": {"scheme": ["x"], "credentials": {"token": [SECRET]}}},
        {"authType": "serviceAccount", "serviceAccount": {"scopes": [SECRET]}},
        {"authType": "oauth2", "oauth2": {"expiresIn": SECRET}},
    ],
)
def test_an_invalid_credential_is_told_without_its_values(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        AuthCredential.model_validate(values)
    assert SECRET not in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"type": "apiKey", "in": "query", "name": "k"}, APIKey),
        ({"type": "http", "scheme": "bearer"}, HTTPBearer),
        ({"type": "http", "scheme": "basic"}, HTTPBase),
        ({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "u", "scopes": {"a": "b"}}}}, OAuth2),
        ({"type": "oauth2", "flows": {}, "issuer_url": "u"}, ExtendedOAuth2),
        ({"type": "openIdConnect", "openIdConnectUrl": "u"}, OpenIdConnect),
        ({"type": "openIdConnect", **ENDS, "scopes": ["openid"]}, OpenIdConnectWithConfig),
        ({"type": "handshake", "firm": True}, CustomAuthScheme),
    ],
)
def test_a_scheme_reads_as_its_class_and_writes_as_it_was(values: dict[str, Any], kind: type[BaseModel]) -> None:
    config = AuthConfig.model_validate({"authScheme": values})
    assert type(config.auth_scheme) is kind
    assert config.model_dump(mode="json", by_alias=True, exclude_none=True)["authScheme"] == values
    without = {name: value for name, value in values.items() if name != "type"}
    if kind is not CustomAuthScheme:
        assert type(AuthConfig.model_validate({"authScheme": without}).auth_scheme) is kind


@pytest.mark.parametrize("scheme", [None, 3, {"type": "apiKey"}, {"type": "oauth2"}, "apiKey"])
def test_what_is_no_scheme_is_refused(scheme: Any) -> None:
    with pytest.raises(ValidationError, match=r"auth_?[sS]cheme"):
        AuthConfig.model_validate({"authScheme": scheme})


def test_the_key_is_stable_and_depends_on_what_is_not_secret() -> None:
    def key(**fields: Any) -> str | None:
        raw = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(**fields))
        return AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=raw).credential_key

    assert AuthConfig(auth_scheme=HTTPBearer()).credential_key == "adk_http_178204f758fb78d5_"
    assert key(client_id="a", client_secret="1", state="x", auth_uri="u") == key(client_id="a", client_secret="2")
    assert key(client_id="a") != key(client_id="b")
    emails = (ACCOUNT, ACCOUNT.model_copy(update={"client_email": "other"}), ACCOUNT.model_copy(deep=True))
    accounts = [
        AuthCredential(auth_type="serviceAccount", service_account=ServiceAccount(service_account_credential=one))
        for one in emails
    ]
    keys = [AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=one).credential_key for one in accounts]
    assert (keys[0] != keys[1], keys[0] == keys[2]) == (True, True)
    assert AuthConfig(auth_scheme=HTTPBearer(), credential_key="mine").credential_key == "mine"
    assert AuthConfig(auth_scheme=HTTPBearer(credential_key="extra")).credential_key == "extra"


def test_a_service_account_is_complete() -> None:
    with pytest.raises(ValidationError, match="needs service_account_credential"):
        ServiceAccount(scopes=["s"])
    with pytest.raises(ValidationError, match="needs the audience"):
        ServiceAccount(use_default_credential=True, use_id_token=True)


def test_the_grant_of_a_flow() -> None:
    flows = OAuthFlows.model_validate({"password": {"tokenUrl": "u"}})
    assert OAuthGrantType.from_flow(flows) is OAuthGrantType.PASSWORD
    assert OAuthGrantType.from_flow(OAuthFlows()) is None


def test_schemes_of_other_libraries_are_taken() -> None:
    class Theirs(BaseModel):
        type: str = "http"
        scheme: str = "bearer"

    assert type(AuthConfig(auth_scheme=Theirs()).auth_scheme) is HTTPBearer  # type: ignore[arg-type]
