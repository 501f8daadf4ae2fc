"""Cookies: a browser trades the token for a cookie that no script and no other site can use."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

#: Where the token is traded, with a POST that carries it.
TRADE = "/auth/cookie"


class Cookie:
    """The token, and the cookie that stands for it: a hash, so that the token itself is not in the browser's store."""

    def __init__(self, token: str) -> None:
        self._bearer = b"bearer " + token.encode()
        self._value = hmac.digest(token.encode(), b"newel cookie", hashlib.sha256).hex().encode()
        # Cookies are shared by all ports of a host: each server has a name of its own.
        self._name = b"newel_" + hashlib.sha256(self._value).hexdigest()[:12].encode()

    def is_carried(self, authorization: bytes, cookies: bytes) -> bool:
        """Whether a request carries the token or its cookie; takes as long whatever it carries instead."""
        if authorization:
            return hmac.compare_digest(authorization[:7].lower() + authorization[7:], self._bearer)
        for one in cookies.split(b";"):
            name, _, value = one.strip().partition(b"=")
            if name == self._name:
                return hmac.compare_digest(value, self._value)
        return False

    def header(self, scope: Scope) -> bytes:
        """The Set-Cookie header."""
        path = scope.get("root_path", "").encode("latin-1", "ignore") or b"/"
        secure = b"; Secure" if scope.get("scheme") == "https" else b""
        return self._name + b"=" + self._value + b"; Path=" + path + b"; HttpOnly; SameSite=Strict" + secure
