"""Credentials, and the requests for them.

`secret_fields` names the secret ones of their fields: no repr and no error shows them, and `sealed` removes them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from newel_types.auth_schemes import AnyAuthScheme, OAuthGrantType
from newel_types.records import Json
from newel_types.wire import ResponseModel

SECRET = "<secret>"  # noqa: S105 - shown in place of a secret
#: Fields that a request to a service adds to a credential; the credential's key must not depend on them.
_TRANSIENT_FIELDS = frozenset({"auth_uri", "state", "nonce", "redirect_uri", "expires_at", "expires_in"})


class Sealable(ResponseModel):
    """A model of which some fields are secret, and unknown ones may be."""

    model_config = ConfigDict(hide_input_in_errors=True)
    secret_fields: ClassVar[frozenset[str]] = frozenset()

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        for name in type(self).model_fields:
            value = getattr(self, name)
            if value is not None:
                yield name, SECRET if name in self.secret_fields else value
        yield from ((name, SECRET) for name in self.__pydantic_extra__ or {})

    def sealed(self) -> Self:
        """A copy without the secrets and the unknown fields."""
        values: Json = dict.fromkeys(self.secret_fields)
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name not in values and isinstance(value, Sealable):
                values[name] = value.sealed()
        copy = self.model_copy(update=values)
        copy.__pydantic_extra__ = {}
        return copy

    def secrets(self) -> Iterator[str]:
        """Every secret text in the model, those of unknown fields included."""
        for name, value in self:
            hidden = name in self.secret_fields or name not in type(self).model_fields
            if isinstance(value, Sealable):
                yield from value.secrets()
            elif hidden:
                yield from _texts(value)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from _texts(inner)


class AuthCredentialTypes(str, Enum):  # noqa: UP042 - str() shows the member
    """The kinds of credential."""

    API_KEY = "apiKey"
    HTTP = "http"
    OAUTH2 = "oauth2"
    OPEN_ID_CONNECT = "openIdConnect"
    SERVICE_ACCOUNT = "serviceAccount"


class HttpCredentials(Sealable):
    """A user name with its password, or a token."""

    secret_fields = frozenset({"password", "token"})

    username: str | None = None
    password: str | None = None
    token: str | None = None


class HttpAuth(Sealable):
    """The content of the Authorization header: a scheme of RFC 7235 (``basic``, ``bearer``) and its credentials."""

    secret_fields = frozenset({"additional_headers"})

    scheme: str
    credentials: HttpCredentials
    additional_headers: dict[str, str] | None = None


class OAuth2Auth(Sealable):
    """An OAuth2 or OpenID Connect client, the state of its authorization, and the tokens; times in seconds."""

    secret_fields = frozenset(
        {
            "access_token",
            "auth_code",
            "auth_response_uri",
            "client_secret",
            "code_verifier",
            "id_token",
            "refresh_token",
        }
    )

    client_id: str | None = None
    client_secret: str | None = None
    #: Where the user consents.
    auth_uri: str | None = None
    nonce: str | None = None
    #: Must come back with the answer; without it the answer is refused.
    state: str | None = None
    redirect_uri: str | None = None
    #: The URL that the service sent the user back to.
    auth_response_uri: str | None = None
    auth_code: str | None = None
    access_token: str | None = None
    refresh_token: str | None = None
    id_token: str | None = None
    expires_at: int | None = None
    expires_in: int | None = None
    audience: str | None = None
    prompt: str | None = None
    code_verifier: str | None = None
    code_challenge_method: str | None = None
    token_endpoint_auth_method: (
        Literal["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"] | None
    ) = "client_secret_basic"  # noqa: S105 - the name of a method


class ServiceAccountCredential(Sealable):
    """The key file of a service account."""

    secret_fields = frozenset({"private_key", "private_key_id"})

    type_: str = Field("", alias="type")
    project_id: str
    private_key_id: str
    private_key: str
    client_email: str
    client_id: str
    auth_uri: str
    token_uri: str
    auth_provider_x509_cert_url: str
    client_x509_cert_url: str
    universe_domain: str


def _has(name: str, **value: object) -> dict[str, Any]:
    """The schema of objects that have this field, with a value of that kind."""
    return {"properties": {name: value}, "required": [name]}


_KEY: dict[str, Any] = {
    "anyOf": [_has("useDefaultCredential", const=True), _has("serviceAccountCredential", type="object")]
}
_AUDIENCE: dict[str, Any] = {
    "anyOf": [{"properties": {"useIdToken": {"enum": [False, None]}}}, _has("audience", type="string", minLength=1)]
}


class ServiceAccount(Sealable):
    """A service account: its key, or the credentials of the machine with `use_default_credential`.

    With `use_id_token` it gets an ID token for `audience`, else an access token for `scopes`.
    """

    model_config = ConfigDict(json_schema_extra={"allOf": [_KEY, _AUDIENCE]})
    secret_fields = frozenset({"service_account_credential"})

    service_account_credential: ServiceAccountCredential | None = None
    scopes: list[str] | None = None
    use_default_credential: bool | None = False
    use_id_token: bool | None = False
    audience: str | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.use_default_credential and self.service_account_credential is None:
            raise ValueError("a service account needs service_account_credential, or use_default_credential=True")
        if self.use_id_token and not self.audience:
            raise ValueError("use_id_token needs the audience: the URL of the service that is called")
        return self


class ApiKey(Sealable):
    """An API key, as code may wrap it."""

    secret_fields = frozenset({"api_key"})

    api_key: str


class AuthCredential(Sealable):
    """A credential of the kind `auth_type`; the field of that kind holds it."""

    secret_fields = frozenset({"api_key", "service_account"})

    auth_type: AuthCredentialTypes
    resource_ref: str | None = None
    api_key: str | None = None
    http: HttpAuth | None = None
    service_account: ServiceAccount | None = None
    oauth2: OAuth2Auth | None = None

    @field_validator("api_key", mode="before")
    @classmethod
    def _unwrapped(cls, value: object) -> object:
        return value.api_key if isinstance(value, ApiKey) else value


class AuthConfig(Sealable):
    """A request for a credential: the scheme, the app's part (`raw_auth_credential`), and the outcome.

    `credential_key` is the name under which the credential is kept. If none is given, it is made from the scheme
    and from the fields of the raw credential that are not secret. `grant` chooses among the flows that a scheme
    offers: ``authorization_code`` acts for the user, who is asked; ``client_credentials`` acts for the app.
    """

    auth_scheme: AnyAuthScheme
    raw_auth_credential: AuthCredential | None = None
    exchanged_auth_credential: AuthCredential | None = None
    credential_key: str | None = None
    grant: OAuthGrantType | None = None

    @model_validator(mode="after")
    def _has_key(self) -> Self:
        if not self.credential_key:
            self.credential_key = self._given_key() or self.get_credential_key()
        return self

    def _given_key(self) -> str | None:
        for owner in (self.raw_auth_credential, self.auth_scheme):
            extra = (owner.model_extra or {}) if owner is not None else {}
            for name in ("credential_key", "credentialKey"):
                if isinstance(extra.get(name), str):
                    return str(extra[name])
        return None

    def get_credential_key(self) -> str:
        """The key that is used if none is given."""
        scheme, raw = self.auth_scheme, self.raw_auth_credential
        kind = scheme.type_.value if isinstance(scheme.type_, Enum) else scheme.type_
        name = f"adk_{kind}_{_digest(scheme)}_" + (f"{self.grant.value}_" if self.grant else "")
        return name if raw is None else f"{name}{raw.auth_type.value}_{_digest(raw.sealed(), _identity(raw))}"


def _identity(credential: AuthCredential) -> Json:
    """The identity of a service account, without its key; an OAuth2 client is identified by its id."""
    account = credential.service_account
    if account is None:
        return {}
    key = account.service_account_credential
    public = account.model_dump(mode="json", include={"scopes", "use_id_token", "audience", "use_default_credential"})
    return {"serviceAccount": {**public, "email": key.client_email if key is not None else None}}


def _digest(model: BaseModel, more: Mapping[str, object] = MappingProxyType({})) -> str:
    """Sixteen hexadecimal digits that are the same for the same declared fields (and `more`), in every process."""
    plain = model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_excluded(model)) | dict(more)
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _excluded(model: BaseModel) -> Json:
    unknown: Json = dict.fromkeys(model.model_extra or {}, True)
    return {**unknown, "oauth2": set(_TRANSIENT_FIELDS)} if isinstance(model, AuthCredential) else unknown


class AuthToolArguments(Sealable):
    """The arguments of ``adk_request_credential``: the call that waits, and the request for its credential."""

    function_call_id: str
    auth_config: AuthConfig
