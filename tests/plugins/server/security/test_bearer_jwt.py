"""The caller's user by a signed token: who else is in the path is refused, and so is every other token."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from tests.plugins.server.conftest import Serve

from newel_compose import compose

_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
_EC = ec.generate_private_key(ec.SECP256R1())
_OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def keys() -> Iterator[str]:
    """The address of the keys of an identity provider."""
    listed = [
        {**json.loads(RSAAlgorithm.to_jwk(_RSA.public_key())), "kid": "r", "alg": "RS256"},
        {**json.loads(ECAlgorithm.to_jwk(_EC.public_key())), "kid": "e", "alg": "ES256"},
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"keys": listed}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/keys"
    server.shutdown()
    server.server_close()


def claims(**changed: Any) -> dict[str, Any]:
    return {"iss": "https://id.example", "aud": "newel", "sub": "ann", "exp": time.time() + 100} | changed


def signed(key: Any = _RSA, kid: str = "r", algorithm: str = "RS256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers={"kid": kid})


def unsigned(algorithm: str) -> str:
    parts = [json.dumps(one).encode() for one in ({"alg": algorithm, "kid": "r", "typ": "JWT"}, claims())]
    return ".".join(base64.urlsafe_b64encode(one).rstrip(b"=").decode() for one in parts) + "."


def test_the_caller_is_the_tokens_user(serve: Serve, tmp_path: Path, keys: str) -> None:
    settings = {"issuer": "https://id.example", "audience": "newel", "jwks_url": keys, "allow": ["127.0.0.1"]}
    (tmp_path / "own.yaml").write_text(
        f"extends: standard\nsettings: {{server: {{user_of: jwt, jwt: {json.dumps(settings)}}}}}\n"
    )
    client = serve(composition=compose(str(tmp_path / "own.yaml")))

    def ask(token: str | None, user: str = "ann") -> int:
        headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        return client.get(f"/apps/clerk/users/{user}/sessions", headers=headers).status_code

    assert ask(signed()) == 200
    assert ask(signed(_EC, "e", "ES256")) == 200
    assert ask(signed(), "bob") == 403
    assert ask(signed(sub="bob"), "bob") == 200
    wrong = [
        None,
        "x.y.z",
        unsigned("none"),
        unsigned("RS256"),
        signed(_OTHER),
        signed(_EC, "r", "ES256"),
        signed(kid="unknown"),
        signed(exp=time.time() - 100),
        signed(iss="https://other.example"),
        signed(aud="other"),
        signed(sub=""),
        signed(nbf=time.time() + 1000),
        jwt.encode(claims(), "a shared secret of thirty-two bytes", algorithm="HS256", headers={"kid": "r"}),
    ]
    assert [ask(token) for token in wrong] == [401] * len(wrong)
