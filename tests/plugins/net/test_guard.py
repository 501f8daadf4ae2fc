"""The guard of outgoing requests: which URLs it refuses."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from newel.net import Policy, UrlRefusedError, check


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:80/",
        "http://[::1]/",
        "http://[::ffff:7f00:1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0/",
        "http://127.0.0.1./",
        "https://169.254.169.254/latest/",
    ],
)
def test_every_spelling_of_an_inner_address_is_refused(url: str) -> None:
    with pytest.raises(UrlRefusedError, match="is not a public host"):
        check(url)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "neither http nor https"),
        ("gopher://x/", "neither http nor https"),
        ("//host/path", "neither"),
        ("http:///path", "names no host"),
        ("http://a b/", "blanks"),
        ("http://host/\r\nX: y", "control characters"),
        ("http://host\\@evil/", "backslashes"),
        ("http://user:secret@host/", "a user name or a password"),
        ("http://host:99999/", "is not a valid URL"),
        ("http://[::1/", "is not a valid URL"),
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str, why: str) -> None:
    with pytest.raises(UrlRefusedError, match=why) as caught:
        check(url)
    assert "secret" not in str(caught.value)


def test_one_inner_address_among_several_refuses_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (ip, port)) for ip in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(UrlRefusedError, match=r"it has the address 10\.0\.0\.1"):
        check("http://two-faced.example/")


def test_another_port_of_an_allowed_address_is_refused(site: Any) -> None:
    with pytest.raises(UrlRefusedError):
        check("http://127.0.0.1:1/", Policy(allow=(site.address,)))
