"""Who calls, by a JSON Web Token that an identity provider has signed: ``Authorization: Bearer JWT``."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import jwt

from newel.net import Policy, fetch
from newel.server.refusals import Refusal
from newel.server.security.jwt_settings import JwtSettings
from newel_kernel import seam

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

#: Signatures with a public key; with a shared secret, whoever checks a token could make one.
_ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_FRESH_SECONDS, _LEAST_SECONDS = 600.0, 10.0
_ASK = {"www-authenticate": "Bearer"}


class Keys:
    """The public keys of an identity provider, fetched through the guard of outgoing requests."""

    def __init__(self, settings: JwtSettings) -> None:
        self._url = settings.jwks_url
        self._policy = Policy(allow=settings.allow, max_bytes=1_000_000, seconds=10.0)
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched = -_FRESH_SECONDS
        self._lock = asyncio.Lock()

    async def find(self, name: str | None) -> jwt.PyJWK | None:
        """The key of that id. Keys are fetched again after a while, and soon if an unknown one is named."""
        async with self._lock:
            age = seam.monotonic() - self._fetched
            if age >= _FRESH_SECONDS or (name not in self._keys and age >= _LEAST_SECONDS):
                self._fetched = seam.monotonic()
                await self._fetch()
            return self._keys.get(name)

    async def _fetch(self) -> None:
        try:
            reply = await fetch(self._url, self._policy)
            if reply.status != 200:
                raise ValueError(f"status {reply.status}")
            found = jwt.PyJWKSet.from_dict(json.loads(reply.body))
        except Exception as error:
            if self._keys:  # those that are known are still good
                return
            self._fetched = -_FRESH_SECONDS
            raise Refusal(503, "the keys that tokens are checked with cannot be fetched") from error
        self._keys = {key.key_id: key for key in found.keys}


class BearerJwt:
    """Finds the user in a token, or refuses the caller."""

    def __init__(self, settings: JwtSettings) -> None:
        self._settings = settings
        self._keys: Keys | None = None

    async def __call__(self, connection: HTTPConnection) -> str:
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Refusal(401, "send the token of your identity provider, as `Authorization: Bearer JWT`", _ASK)
        claims = await self._claims(token.strip())
        user = claims.get(self._settings.claim)
        if not isinstance(user, str) or not user:
            raise Refusal(401, f"the token has no text in its claim {self._settings.claim!r}", _ASK)
        return user

    async def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        if self._keys is None:
            self._keys = Keys(settings)
        try:
            key = await self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None or key.algorithm_name not in _ALGORITHMS:
                raise Refusal(401, "the token is signed with an unknown key", _ASK)
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                issuer=settings.issuer,
                audience=settings.audience,
                leeway=settings.leeway,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise Refusal(401, "the token has expired: get a new one", _ASK) from None
        except jwt.PyJWTError:
            raise Refusal(401, "the token is not valid here", _ASK) from None
        return claims
