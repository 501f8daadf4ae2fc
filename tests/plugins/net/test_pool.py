"""The pool of connections: kept, cut off, cancelled, and only to addresses that the guard has checked."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import warnings
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from newel.net import FetchError, Policy, UrlRefusedError
from newel.net.pool import Pool, UnsentError


def sent(policy: Policy, *requests: Any, **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        pool = Pool(policy)
        try:
            return [await pool.send(*request, **options) for request in requests]
        finally:
            await pool.close()

    return asyncio.run(run())


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
    (reply,) = sent(Policy(allow=(site.address,)), ("GET", f"http://rebound.example:{site.port}/"))
    assert (reply.body, asked) == (b"hello", ["rebound.example"])
    assert site.seen[0][2]["host"] == f"rebound.example:{site.port}"


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://169.254.169.254/"])
def test_what_is_not_public_is_refused(site: Any, url: str) -> None:
    with pytest.raises(UrlRefusedError, match="is not a public host"):
        sent(Policy(), ("GET", url.format(port=site.port)))
    assert not site.seen


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest", "http://127.0.0.2:1/"])
def test_each_redirect_is_checked(site: Any, location: str) -> None:
    site.page("/", b"", status=302, Location=location)
    with pytest.raises(FetchError, match=r"redirects, and .* is not a public host") as caught:
        sent(Policy(allow=(site.address,)), ("GET", site.url()), follow=lambda target: True)
    assert type(caught.value) is FetchError  # which does not say that nothing was sent


def test_a_redirect_to_a_dead_server_does_not_say_that_nothing_was_sent(site: Any) -> None:
    site.page("/", b"", status=303, Location="http://nowhere.invalid/")
    with pytest.raises(FetchError, match=r"redirects, and the host 'nowhere\.invalid' cannot be resolved") as caught:
        sent(Policy(allow=(site.address,)), ("POST", site.url(), (), [b"x"]), follow=lambda target: True)
    assert type(caught.value) is FetchError


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://u:p@h/", "http://a b/", "//[", "http://h:99999/"])
def test_a_redirect_that_is_no_web_address_is_the_answer(site: Any, location: str) -> None:
    site.page("/", b"moved", status=302, Location=location)
    (reply,) = sent(Policy(allow=(site.address,)), ("POST", site.url(), (), [b"x"]), follow=lambda target: True)
    assert (reply.status, reply.body) == (302, b"moved")


def test_name_servers_that_hang_hold_up_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(20) and [])

    async def run() -> bool:
        pool = Pool(Policy(seconds=10))
        hanging = [asyncio.ensure_future(pool.send("GET", f"http://h{number}.example/")) for number in range(40)]
        await asyncio.sleep(0.05)
        other = await asyncio.wait_for(asyncio.to_thread(lambda: True), 5)
        for one in hanging:
            one.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        await pool.close()
        return other

    assert asyncio.run(run())
    released.set()


def test_a_redirect_is_followed_if_it_may_be_and_keys_stay_at_home(site: Any) -> None:
    site.page("/", b"", status=302, Location="/next")
    site.page("/next", b"", status=307, Location=f"http://localhost:{site.port}/last")
    site.page("/last", b"there")
    policy, keys = Policy(allow=(site.address, "localhost")), [("Authorization", "Bearer t"), ("X-Key", "k")]
    request = ("POST", site.url(), keys, [b"x"])
    (reply,) = sent(policy, request, follow=lambda target: True)
    assert (reply.body, reply.url) == (b"there", f"http://localhost:{site.port}/last")
    shown = [(method, "authorization" in headers, "x-key" in headers) for method, _, headers in site.seen]
    assert shown == [("POST", True, True), ("GET", True, True), ("GET", False, False)]
    (reply,) = sent(policy, request)
    assert (reply.status, reply.headers["location"]) == (302, "/next")


def test_a_circle_of_redirects_ends(site: Any) -> None:
    site.page("/", b"", status=301, Location="/")
    with pytest.raises(FetchError, match="redirects more than 3 times"):
        sent(Policy(allow=(site.address,), max_redirects=3), ("GET", site.url()), follow=lambda target: True)


def test_what_cannot_be_read_is_a_fetch_error(site: Any) -> None:
    policy = Policy(allow=(site.address,))
    site.page("/zip", b"...", Content_Encoding="gzip")
    with pytest.raises(FetchError, match="encoding 'gzip'"):
        sent(policy, ("GET", site.url("/zip")))
    site.pages["/broken?key=secret"] = lambda request: request.wfile.write(b"nonsense\r\n\r\n")
    with pytest.raises(FetchError) as failure:
        sent(policy, ("GET", site.url("/broken?key=secret")))
    assert "secret" not in str(failure.value)
    site.page("/long", b"x" * 10_000)
    (reply,) = sent(Policy(allow=(site.address,), max_bytes=100), ("GET", site.url("/long")))
    assert (len(reply.body), reply.truncated) == (100, True)


def test_without_a_connection_nothing_was_sent() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UnsentError, match="no connection to http://127"):
        sent(Policy(allow=("127.0.0.1",)), ("GET", f"http://127.0.0.1:{port}/"))
    with pytest.raises(UnsentError, match="cannot be resolved"):
        sent(Policy(), ("GET", "http://nowhere.invalid/"))


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_slow_server_is_left(site: Any, part: str) -> None:
    site.drips("/", part)
    with pytest.raises(FetchError, match=r"did not answer within 0\.3 seconds"):
        sent(Policy(allow=(site.address,), seconds=0.3), ("GET", site.url()))


def test_cancelling_requests_leaves_no_connection_and_no_complaint(site: Any) -> None:
    release = threading.Event()

    def slow(request: BaseHTTPRequestHandler) -> None:
        release.wait(5)

    site.pages["/slow"] = slow
    site.page("/", b"fine")
    problems: list[Any] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        pool = Pool(Policy(allow=(site.address,)), most=5)
        for delay in range(60):
            task = asyncio.ensure_future(pool.send("GET", site.url("/slow")))
            await asyncio.sleep(delay / 4000)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await pool.send("GET", site.url())).body == b"fine"
        await pool.close()
        await asyncio.sleep(0.05)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            asyncio.run(run())
        finally:
            release.set()
        gc.collect()
    assert not problems
