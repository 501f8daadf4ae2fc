"""OAuthServer: an OAuth2 and OpenID Connect server on this machine, as strict as a real one, for tests.

It checks the client, the redirect URI and PKCE, accepts each code and each refresh token once, and publishes its
endpoints. `consent` plays the user's browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from newel_kernel import Json
from newel_testkit.local_server import LocalServer


@dataclass
class OAuthServer(LocalServer):
    """Use it as a context manager; `url` is its address, and its issuer.

    `failure` makes the token endpoint answer (status, body) instead. `requests` holds what it was sent.
    """

    client_id: str = "client"
    client_secret: str | None = "client-secret"  # noqa: S105 - of a server that exists only in tests
    redirect_uri: str = "https://app.example/callback"
    lasts: int = 3600
    failure: tuple[int, bytes] | None = None
    #: Whether apps may register themselves; the client is then the one that did so last, and `registered` its wishes.
    registers: bool = False
    registered: list[Json] = field(default_factory=list)
    #: Whether the id of a client may be the address of a document about it.
    takes_documents: bool = False
    #: How clients may say who they are; None: the server does not say.
    methods: list[str] | None = None
    requests: list[dict[str, str]] = field(default_factory=list)
    #: The codes and tokens that it gave out, newest last.
    issued: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _refresh: set[str] = field(default_factory=set)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._answer(self, *owner._discovery(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                if self.path == "/register":
                    owner._answer(self, *owner._register(json.loads(body)))
                    return
                form = {name: values[0] for name, values in parse_qs(body).items()}
                owner.requests.append(form)
                owner._answer(self, *owner._token(form, self.headers.get("Authorization", "")))

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def consent(self, auth_uri: str) -> str:
        """The URL to which the browser of a user who agrees is sent back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(auth_uri).query).items()}
        if query["client_id"] != self.client_id or query.get("redirect_uri") != self.redirect_uri:
            raise ValueError("the client or its redirect URI does not match")
        code = self._new("code")
        self._codes[code] = query
        return f"{self.redirect_uri}?{urlencode({'code': code, 'state': query['state']})}"

    def _new(self, kind: str) -> str:
        value = f"{kind}-{secrets.token_urlsafe(24)}"
        self.issued.append(value)
        return value

    def _answer(self, handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _discovery(self, path: str) -> tuple[int, bytes]:
        if not path.startswith("/.well-known/o"):
            return 404, b"{}"
        ends: Json = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "client_id_metadata_document_supported": self.takes_documents,
        }
        if self.registers:
            ends["registration_endpoint"] = f"{self.url}/register"
        if self.methods is not None:
            ends["token_endpoint_auth_methods_supported"] = self.methods
        return 200, json.dumps(ends).encode()

    def _register(self, wishes: Json) -> tuple[int, bytes]:
        """A new client, as RFC 7591 has it."""
        if not self.registers or not wishes.get("redirect_uris"):
            return 400, json.dumps({"error": "invalid_client_metadata"}).encode()
        self.registered.append(wishes)
        self.client_id, self.redirect_uri = f"client-{len(self.registered)}", wishes["redirect_uris"][0]
        method = wishes.get("token_endpoint_auth_method", "client_secret_basic")
        self.client_secret = None if method == "none" else self._new("secret")
        client = {"client_id": self.client_id, "token_endpoint_auth_method": method, **wishes}
        if self.client_secret is not None:
            client |= {"client_secret": self.client_secret, "client_secret_expires_at": 0}
        return 201, json.dumps(client).encode()

    def _token(self, form: dict[str, str], header: str) -> tuple[int, bytes]:
        if self.failure is not None:
            return self.failure
        if not self._is_client(form, header):
            return 401, _error("invalid_client", form)
        kind = form.get("grant_type")
        if kind == "client_credentials":
            return 200, self._tokens({})
        if kind == "refresh_token" and form.get("refresh_token") in self._refresh:
            self._refresh.discard(form["refresh_token"])
            return 200, self._tokens({"refresh_token": ""})
        consent = self._codes.pop(form.get("code", ""), None) if kind == "authorization_code" else None
        if consent is None or not _fits(consent, form):
            return 400, _error("invalid_grant", form)
        return 200, self._tokens({"refresh_token": "", **consent})

    def _is_client(self, form: dict[str, str], header: str) -> bool:
        client, secret = form.get("client_id"), form.get("client_secret")
        if header.startswith("Basic "):
            client, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            client, secret = unquote(client), unquote(secret)
        return client == self.client_id and secret == self.client_secret

    def _tokens(self, grant: dict[str, str]) -> bytes:
        tokens: Json = {
            "access_token": self._new("access"),
            "token_type": "Bearer",
            "expires_in": self.lasts,
        }
        if "refresh_token" in grant:
            tokens["refresh_token"] = self._new("refresh")
            self._refresh.add(tokens["refresh_token"])
        if "openid" in grant.get("scope", "").split():
            claims = {"iss": self.url, "aud": self.client_id, "nonce": grant.get("nonce")}
            tokens["id_token"] = ".".join(("e30", _base64(json.dumps(claims).encode()), "c2ln"))
            self.issued.append(tokens["id_token"])
        return json.dumps(tokens).encode()


def _fits(consent: dict[str, str], form: dict[str, str]) -> bool:
    """Whether a token request belongs to the consent: same redirect URI, and the verifier of the challenge."""
    challenge = _base64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
    return form.get("redirect_uri") == consent.get("redirect_uri") and consent.get("code_challenge") == challenge


def _error(code: str, form: dict[str, str]) -> bytes:
    """An error whose description quotes the whole request, as careless servers do."""
    return json.dumps({"error": code, "error_description": f"{code}: {json.dumps(form)}"}).encode()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
