"""Credentials that the service uses when it calls on behalf of a tool."""

from newel_types.wire import WireEnum, WireModel


class AuthType(WireEnum):
    """The kind of a credential."""

    AUTH_TYPE_UNSPECIFIED = "AUTH_TYPE_UNSPECIFIED"
    NO_AUTH = "NO_AUTH"
    API_KEY_AUTH = "API_KEY_AUTH"
    HTTP_BASIC_AUTH = "HTTP_BASIC_AUTH"
    GOOGLE_SERVICE_ACCOUNT_AUTH = "GOOGLE_SERVICE_ACCOUNT_AUTH"
    OAUTH = "OAUTH"
    OIDC_AUTH = "OIDC_AUTH"


class HttpElementLocation(WireEnum):
    """Where in a request an API key goes."""

    HTTP_IN_UNSPECIFIED = "HTTP_IN_UNSPECIFIED"
    HTTP_IN_QUERY = "HTTP_IN_QUERY"
    HTTP_IN_HEADER = "HTTP_IN_HEADER"
    HTTP_IN_PATH = "HTTP_IN_PATH"
    HTTP_IN_BODY = "HTTP_IN_BODY"
    HTTP_IN_COOKIE = "HTTP_IN_COOKIE"


class ApiKeyConfig(WireModel):
    """An API key, or the secret that holds it."""

    api_key_secret: str | None = None
    api_key_string: str | None = None
    http_element_location: HttpElementLocation | None = None
    name: str | None = None


class AuthConfigGoogleServiceAccountConfig(WireModel):
    """A service account."""

    service_account: str | None = None


class AuthConfigHttpBasicAuthConfig(WireModel):
    """HTTP basic authentication, by the secret that holds the credential."""

    credential_secret: str | None = None


class AuthConfigOauthConfig(WireModel):
    """OAuth: a token, or a service account that gets one."""

    access_token: str | None = None
    service_account: str | None = None


class AuthConfigOidcConfig(WireModel):
    """OpenID Connect: a token, or a service account that gets one."""

    id_token: str | None = None
    service_account: str | None = None


class AuthConfig(WireModel):
    """A credential for calls that the service makes."""

    api_key: str | None = None
    api_key_config: ApiKeyConfig | None = None
    auth_type: AuthType | None = None
    google_service_account_config: AuthConfigGoogleServiceAccountConfig | None = None
    http_basic_auth_config: AuthConfigHttpBasicAuthConfig | None = None
    oauth_config: AuthConfigOauthConfig | None = None
    oidc_config: AuthConfigOidcConfig | None = None


class ApiAuthApiKeyConfig(WireModel):
    """An API key, or the version of the secret that holds it."""

    api_key_secret_version: str | None = None
    api_key_string: str | None = None


class ApiAuth(WireModel):
    """The older form of a credential."""

    api_key_config: ApiAuthApiKeyConfig | None = None


#: The name of this class, to tell it from the `AuthConfig` of tools.
GenaiAuthConfig = AuthConfig
