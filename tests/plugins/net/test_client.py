"""The client of outgoing requests: it connects to what was checked, and stays within its bounds."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from newel.net import FetchError, Policy, UrlRefusedError, fetch, fetch_blocking


def test_the_connection_goes_to_the_address_that_was_checked(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site.page("/", b"hello")
    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: str, port: int, *rest: Any, **named: Any) -> list[Any]:
        if host != "rebound.example":
            return real(host, port, *rest, **named)
        asked.append(host)  # the second answer would lead elsewhere
        return [(socket.AF_INET, 1, 6, "", ("127.0.0.1" if len(asked) == 1 else "10.255.255.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    reply = fetch_blocking(f"http://rebound.example:{site.port}/", Policy(allow=(site.address,)))
    assert (reply.body, asked) == (b"hello", ["rebound.example"])
    assert site.seen[0][2]["host"] == f"rebound.example:{site.port}"


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.0/8", "localhost", "{address}", "localhost:{port}"])
def test_what_is_allowed_may_be_fetched(site: Any, entry: str) -> None:
    site.page("/x", b"inside")
    allow = entry.format(address=site.address, port=site.port)
    host = f"localhost:{site.port}" if "localhost" in entry else None
    assert asyncio.run(fetch(site.url("/x", host), Policy(allow=(allow,)))).body == b"inside"


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest", "http://127.0.0.2/", "file:///etc/passwd"])
def test_each_redirect_is_checked(site: Any, location: str) -> None:
    site.page("/", b"", status=302, Location=location)
    with pytest.raises(UrlRefusedError):
        fetch_blocking(site.url(), Policy(allow=(site.address,)))


def test_a_redirect_within_the_rules_is_followed_and_keeps_credentials_at_home(site: Any) -> None:
    site.page("/", b"", status=302, Location="/next")
    site.page("/next", b"", status=307, Location=f"http://localhost:{site.port}/last")
    site.page("/last", b"there")
    policy = Policy(allow=(site.address, "localhost"))
    reply = fetch_blocking(site.url(), policy, method="POST", headers={"Authorization": "Bearer t"}, body=b"x")
    assert (reply.body, reply.url) == (b"there", f"http://localhost:{site.port}/last")
    assert [(method, "authorization" in headers) for method, _, headers in site.seen] == [
        ("POST", True),
        ("GET", True),
        ("GET", False),
    ]


def test_a_circle_of_redirects_ends(site: Any) -> None:
    site.page("/", b"", status=301, Location="/")
    with pytest.raises(FetchError, match="redirects more than 3 times"):
        fetch_blocking(site.url(), Policy(allow=(site.address,), max_redirects=3))
    assert len(site.seen) == 4


def test_a_large_body_is_cut(site: Any) -> None:
    site.page("/", b"x" * 10_000)
    reply = fetch_blocking(site.url(), Policy(allow=(site.address,), max_bytes=100))
    assert (len(reply.body), reply.truncated) == (100, True)


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_slow_server_is_left(site: Any, part: str) -> None:
    site.drips("/", part)
    with pytest.raises(FetchError, match=r"took longer than 0\.3 seconds"):
        fetch_blocking(site.url(), Policy(allow=(site.address,), seconds=0.3))


def test_what_cannot_be_reached_or_read_is_a_fetch_error(site: Any) -> None:
    site.page("/zip", b"...", Content_Encoding="gzip")
    with pytest.raises(FetchError, match="encoding 'gzip'"):
        fetch_blocking(site.url("/zip"), Policy(allow=(site.address,)))
    with pytest.raises(FetchError, match="cannot be resolved"):
        fetch_blocking("http://nowhere.invalid/")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(FetchError, match="no connection to"):
            fetch_blocking(f"http://127.0.0.1:{port}/", Policy(allow=("127.0.0.1",)))


def test_what_the_caller_says_is_for_the_origin_that_it_named(site: Any) -> None:
    site.page("/", b"", status=302, Location="/next")
    site.page("/next", b"", status=302, Location=f"http://localhost:{site.port}/last")
    site.page("/last", b"there")
    own = {"X-Secret": "s", "PRIVATE-TOKEN": "t", "User-Agent": "me", "Cookie": "c", "Accept": "text/html"}
    fetch_blocking(site.url(), Policy(allow=(site.address, "localhost")), headers=own)
    first, second, last = [headers for _, _, headers in site.seen]
    assert first["x-secret"] == second["x-secret"] == "s"
    assert second["user-agent"] == "me"
    assert not {"x-secret", "private-token", "cookie"} & {name.lower() for name in last}
    assert (last["user-agent"], last["accept"], last["accept-encoding"]) == ("newel", "*/*", "identity")


@pytest.mark.parametrize("redirected", [False, True])
def test_resolving_a_name_is_part_of_the_time(site: Any, monkeypatch: pytest.MonkeyPatch, redirected: bool) -> None:
    """The name server never answers; the thread that asks it is let go at the end of the test."""
    given_up = threading.Event()
    real = socket.getaddrinfo

    def mute(host: str, *rest: Any, **named: Any) -> list[Any]:
        if host == "mute.example":
            given_up.wait(60)
            raise OSError("too late")
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", mute)
    site.page("/", b"", status=302, Location="http://mute.example/")
    url = site.url() if redirected else "http://mute.example/"
    seconds = 5.0 if redirected else 0.2  # the page comes first
    try:
        with pytest.raises(FetchError, match=r"'mute.example' was not resolved within [\d.]+ seconds"):
            fetch_blocking(url, Policy(allow=(site.address,), seconds=seconds))
    finally:
        given_up.set()
