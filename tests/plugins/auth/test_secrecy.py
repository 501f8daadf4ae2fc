"""What hides a secret: the ways in which texts are usually written."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from newel.auth import AuthConfig, AuthCredential, HttpAuth, HttpCredentials, OAuth2Auth
from newel.auth.auth_schemes import APIKey, APIKeyIn, HTTPBase
from newel.auth.secrecy import Secrets
from newel.tools import AuthenticatedFunctionTool

SECRET = "sek\"ret\\ canary+/ü~>>>?'1"
WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "json in utf-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "repr": lambda text: repr(text)[1:-1],
    "url": lambda text: quote(text, safe=""),
    "path": quote,
    "form": quote_plus,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 for URLs without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("secret", [SECRET, SECRET + "2", SECRET + "23"])
def test_a_secret_is_masked_however_it_is_written(write: Callable[[str], str], secret: str) -> None:
    secrets = Secrets()
    secrets.add([secret])
    assert write(secret) not in (masked := secrets.mask(f"<{write(secret)}>"))
    assert masked.startswith("<")
    assert len(masked) < 20


def test_a_short_text_is_no_secret_in_any_form() -> None:
    secrets = Secrets()
    secrets.add(["yes"])
    secrets.add_pair("somebody", "pass")
    text = f"yes {base64.b64encode(b'yes').decode()} {base64.b64encode(b'somebody:pass').decode()}"
    assert secrets.mask(text) is text


PASSWORD = "hunter2-canary"
BASIC = AuthCredential(
    auth_type="http",
    http=HttpAuth(scheme="basic", credentials=HttpCredentials(username="u", password=PASSWORD)),
)
CLIENT = AuthCredential(
    auth_type="oauth2",
    oauth2=OAuth2Auth(client_id="u", client_secret=PASSWORD, access_token="a-token-123"),
)


@pytest.mark.parametrize("credential", [BASIC, CLIENT], ids=["basic", "client"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("padding", [True, False])
def test_a_header_of_basic_authentication_is_masked(
    converse: Any, kit: Any, credential: AuthCredential, encode: Callable[[bytes], bytes], padding: bool
) -> None:
    sent = encode(f"u:{PASSWORD}".encode()).decode()
    sent = sent if padding else sent.rstrip("=")

    def act(credential: AuthCredential) -> dict[str, str]:
        """Act."""
        return {"sent": f"Authorization: Basic {sent}"}

    scheme: Any = HTTPBase(scheme="basic") if credential is BASIC else APIKey(in_=APIKeyIn.header, name="X")
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=credential, credential_key="b")
    talk = converse("standard", [AuthenticatedFunctionTool(func=act, auth_config=config)])
    shown = kit.results(talk.say())[0]["sent"]
    assert shown.startswith("Authorization: Basic ")
    assert sent.rstrip("=") not in shown
