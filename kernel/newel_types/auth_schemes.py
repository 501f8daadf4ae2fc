"""Auth schemes: how a credential is asked for and sent, as OpenAPI 3 describes it in its security schemes.

The field names are OpenAPI's own. A scheme is public: it holds no secret, and it is stored unchanged.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny


class SecuritySchemeType(str, Enum):  # noqa: UP042 - str() shows the member as OpenAPI libraries do
    """The kinds of scheme that OpenAPI knows."""

    apiKey = "apiKey"
    http = "http"
    oauth2 = "oauth2"
    openIdConnect = "openIdConnect"


class APIKeyIn(str, Enum):  # noqa: UP042
    """Where in a request an API key goes."""

    query = "query"
    header = "header"
    cookie = "cookie"


class OAuthGrantType(str, Enum):  # noqa: UP042
    """The OAuth2 flows, by their names in a token request."""

    CLIENT_CREDENTIALS = "client_credentials"
    AUTHORIZATION_CODE = "authorization_code"
    IMPLICIT = "implicit"
    PASSWORD = "password"  # noqa: S105 - the name of a grant

    @staticmethod
    def from_flow(flow: "OAuthFlows") -> "OAuthGrantType | None":
        """The grant of the flow that is declared, or None."""
        for name, grant in _GRANTS.items():
            if getattr(flow, name) is not None:
                return grant
        return None


def _openapi_name(name: str) -> str:
    """``type_`` and ``in_`` are OpenAPI's ``type`` and ``in``, in subclasses as well."""
    return name.removesuffix("_")


class _Declared(BaseModel):
    model_config = ConfigDict(
        extra="allow",
        populate_by_name=True,
        defer_build=True,
        alias_generator=_openapi_name,
    )


def _is(kind: SecuritySchemeType) -> Any:
    """The field of a type, described as that one alone."""
    return Field(kind, json_schema_extra={"const": kind.value})


class SecurityBase(_Declared):
    """The fields that every scheme of OpenAPI has."""

    type_: SecuritySchemeType
    description: str | None = None


class APIKey(SecurityBase):
    """A key in a header, a query parameter or a cookie called `name`."""

    type_: SecuritySchemeType = _is(SecuritySchemeType.apiKey)
    in_: APIKeyIn
    name: str


class HTTPBase(SecurityBase):
    """The Authorization header, with a scheme of RFC 7235, such as ``basic``."""

    type_: SecuritySchemeType = _is(SecuritySchemeType.http)
    scheme: str = Field(json_schema_extra={"not": {"const": "bearer"}})


class HTTPBearer(HTTPBase):
    """A bearer token. Without `scheme` it would be read as another scheme of HTTP."""

    model_config = ConfigDict(json_schema_extra={"required": ["scheme"]})
    scheme: Literal["bearer"] = "bearer"
    bearerFormat: str | None = None


class OAuthFlow(_Declared):
    """The fields that every flow has; `scopes` maps a scope to its description."""

    refreshUrl: str | None = None
    scopes: dict[str, str] = Field(default_factory=dict)


class OAuthFlowImplicit(OAuthFlow):
    """The implicit flow."""

    authorizationUrl: str


class OAuthFlowPassword(OAuthFlow):
    """The password flow."""

    tokenUrl: str


class OAuthFlowClientCredentials(OAuthFlow):
    """The client credentials flow: the app itself is the client, and no user is asked."""

    tokenUrl: str


class OAuthFlowAuthorizationCode(OAuthFlow):
    """The authorization code flow: the user consents at `authorizationUrl`."""

    authorizationUrl: str
    tokenUrl: str


class OAuthFlows(_Declared):
    """The flows that a service offers."""

    implicit: OAuthFlowImplicit | None = None
    password: OAuthFlowPassword | None = None
    clientCredentials: OAuthFlowClientCredentials | None = None
    authorizationCode: OAuthFlowAuthorizationCode | None = None


class OAuth2(SecurityBase):
    """OAuth 2."""

    type_: SecuritySchemeType = _is(SecuritySchemeType.oauth2)
    flows: OAuthFlows


class ExtendedOAuth2(OAuth2):
    """OAuth 2; endpoints that a flow leaves empty are found at `issuer_url`."""

    issuer_url: str | None = None


class OpenIdConnect(SecurityBase):
    """OpenID Connect; the endpoints are found at `openIdConnectUrl`."""

    type_: SecuritySchemeType = _is(SecuritySchemeType.openIdConnect)
    openIdConnectUrl: str


class OpenIdConnectWithConfig(SecurityBase):
    """OpenID Connect with its endpoints."""

    type_: SecuritySchemeType = _is(SecuritySchemeType.openIdConnect)
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None = None
    revocation_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    scopes: list[str] | None = None
    #: With this field a scheme is read as an `OpenIdConnect`.
    model_config = ConfigDict(json_schema_extra={"not": {"required": ["openIdConnectUrl"]}})


class CustomAuthScheme(_Declared):
    """A custom scheme, for which an auth provider is registered. A subclass gives `type_` a default."""

    type_: str = Field(json_schema_extra={"not": {"enum": [one.value for one in SecuritySchemeType]}})


_GRANTS = {
    "clientCredentials": OAuthGrantType.CLIENT_CREDENTIALS,
    "authorizationCode": OAuthGrantType.AUTHORIZATION_CODE,
    "implicit": OAuthGrantType.IMPLICIT,
    "password": OAuthGrantType.PASSWORD,
}
#: Fields that only one kind of scheme has, to recognise a scheme that comes without its type.
_KIND_BY_FIELD = {
    "in": "apiKey",
    "in_": "apiKey",
    "scheme": "http",
    "flows": "oauth2",
    "openIdConnectUrl": "openIdConnect",
    "authorization_endpoint": "openIdConnect",
}


def read_scheme(value: object) -> object:
    """`value`, a dict or another library's object, as the scheme of its type; an unknown type is a custom scheme."""
    if isinstance(value, _Declared):
        return value
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_none=True)
    if not isinstance(value, Mapping):
        raise ValueError(f"an auth scheme is an object with a `type`, not {type(value).__name__}")
    kind = value.get("type", value.get("type_"))
    kind = kind.value if isinstance(kind, Enum) else kind
    if kind is None:
        kind = next((scheme for field, scheme in _KIND_BY_FIELD.items() if field in value), None)
    return _class_of(kind, value).model_validate(value)


def _class_of(kind: object, value: Mapping[str, object]) -> type[BaseModel]:
    if kind == "apiKey":
        return APIKey
    if kind == "http":
        return HTTPBearer if value.get("scheme") == "bearer" else HTTPBase
    if kind == "oauth2":
        return ExtendedOAuth2 if "issuer_url" in value else OAuth2
    if kind == "openIdConnect":
        return OpenIdConnect if "openIdConnectUrl" in value else OpenIdConnectWithConfig
    subclasses = list(CustomAuthScheme.__subclasses__())
    while subclasses:
        custom = subclasses.pop()
        if custom.model_fields["type_"].default == kind:
            return custom
        subclasses.extend(custom.__subclasses__())
    return CustomAuthScheme


#: Any of the schemes.
AuthScheme: TypeAlias = SecurityBase | CustomAuthScheme
#: The type of a field that holds a scheme: read by the scheme's type, and written with all fields of its class.
AnyAuthScheme: TypeAlias = Annotated[
    SerializeAsAny[AuthScheme],
    BeforeValidator(
        read_scheme,
        json_schema_input_type=APIKey
        | HTTPBearer
        | HTTPBase
        | ExtendedOAuth2
        | OpenIdConnect
        | OpenIdConnectWithConfig
        | CustomAuthScheme,
    ),
]
SecurityScheme: TypeAlias = APIKey | HTTPBase | OAuth2 | OpenIdConnect | HTTPBearer
AuthSchemeType = SecuritySchemeType
ApiKeyScheme = APIKey
