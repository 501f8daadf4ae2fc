"""What a page, a stranger or a broken client may do: real sockets, and every refusal says what to change."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.server.conftest import Serve
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from newel.cli.server_guards import guards_of
from newel.server import Options, Refusal
from newel.server.security.bodies import MAX_DEPTH, check_json
from newel.server.security.guards import Guards, check_address
from newel.server.security.hosts import Hosts, Origins
from newel_kernel import ConfigurationError

TOKEN = "a-token-of-twenty-characters"
SESSIONS = "/apps/clerk/users/u/sessions"


def guarded(serve: Serve, **guards: Any) -> httpx.Client:
    return serve(options=Options(host="127.0.0.1", guards=Guards(**guards)))


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def raw(client: httpx.Client, data: bytes, *, wait: float = 60.0) -> bytes:
    """What the server answers to bytes, until it closes the connection."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), wait) as connection:
        connection.sendall(data)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


# --- the token --------------------------------------------------------------------------------------------------------


def test_every_door_but_health_asks_for_the_token(serve: Serve) -> None:
    client = guarded(serve, token=TOKEN)
    assert client.get("/health").status_code == 200
    for path in ("/list-apps", "/docs", "/openapi.json", "/nothing", "/health/x", "//health", "/auth/cookie"):
        for headers in (
            {},
            bearer("wrong"),
            bearer(TOKEN[:-1]),
            {"authorization": TOKEN},
            {"cookie": f"newel={TOKEN}"},
        ):
            answer = client.get(path, headers=headers)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in answer.text
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"):
        assert client.request(method, "/list-apps").status_code == 401
    assert client.get("/list-apps", headers=bearer()).json() == ["clerk"]
    assert client.get("/list-apps", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_a_browser_trades_the_token_for_a_cookie_that_no_script_reads(serve: Serve) -> None:
    client = guarded(serve, token=TOKEN)
    page = client.get("/", headers={"accept": "text/html,*/*"})
    assert page.status_code == 401
    script = re.findall("<script>(.*)</script>", page.text, re.DOTALL)[0]
    assert "replaceState" in script
    assert "'sha256-" in page.headers["content-security-policy"]
    assert client.post("/auth/cookie", headers=bearer("wrong")).status_code == 401
    traded = client.post("/auth/cookie", headers=bearer())
    assert traded.status_code == 204
    cookie = traded.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/list-apps").status_code == 200  # httpx sends the cookie back
    client.cookies.clear()
    assert client.get("/list-apps", headers={"cookie": "x=1; " + cookie.partition(";")[0]}).status_code == 200
    assert client.get("/list-apps", headers={"cookie": cookie.partition(";")[0] + "0"}).status_code == 401


def test_a_socket_asks_for_the_token_too(serve: Serve) -> None:
    client = guarded(serve, token=TOKEN)
    address = str(client.base_url).rstrip("/").replace("http", "ws") + "/run_live?app_name=clerk&user_id=u&session_id=s"
    with pytest.raises(InvalidStatus) as refused, connect(address):
        pass
    assert refused.value.response.status_code in (401, 403)


def test_where_others_can_call_somebody_is_asked() -> None:
    none = {"hosts": (), "origins": (), "proxies": (), "max_body": 16, "max_connections": 100}
    open_ = guards_of(token=None, no_token=True, has_user_of=False, **none)
    assert open_.token is None
    for host in ("0.0.0.0", "::", "192.168.0.1", "newel.example"):
        with pytest.raises(ConfigurationError, match=rf"--no-token .*--host {host}"):
            check_address(host, Options(host=host).is_local, open_)
        check_address(host, is_local=False, guards=guards_of(token=None, no_token=False, has_user_of=False, **none))
    for host in ("127.0.0.1", "::1", "localhost"):
        check_address(host, Options(host=host).is_local, open_)
    first, second = (guards_of(token=None, no_token=False, has_user_of=False, **none).token for _ in range(2))
    assert first != second
    assert len(first or "") >= 32
    with pytest.raises(ConfigurationError, match="not both"):
        guards_of(token=TOKEN, no_token=True, has_user_of=False, **none)
    with pytest.raises(ConfigurationError, match="16"):
        guards_of(token="short", no_token=False, has_user_of=False, **none)


# --- hosts and origins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "127.0.0.1/x", "", "[::2]"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE", "PATCH"])
def test_a_foreign_host_is_refused(serve: Serve, host: str, method: str) -> None:
    answer = guarded(serve).request(method, "/list-apps", headers={"host": host})
    assert answer.status_code == 400
    assert "--allow-host" in answer.json()["detail"]


def test_own_and_listed_hosts(serve: Serve) -> None:
    client = guarded(serve, hosts=("my.example",))
    for host in ("localhost", "127.0.0.1:1234", "[::1]:80", "LOCALHOST", "my.example", "My.Example:8000"):
        assert client.get("/list-apps", headers={"host": host}).status_code == 200, host
    socket_address = str(client.base_url).rstrip("/").replace("http", "ws") + "/run_live"
    with pytest.raises(InvalidStatus), connect(socket_address, additional_headers={"host": "evil.example"}):
        pass


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "file://", "http://127.0.0.1:1", "https://localhost"]
)
@pytest.mark.parametrize(("method", "path"), [("POST", f"{SESSIONS}/x"), ("GET", "/list-apps"), ("OPTIONS", "/run")])
def test_a_foreign_origin_is_refused(serve: Serve, origin: str, method: str, path: str) -> None:
    answer = guarded(serve).request(method, path, headers={"origin": origin})
    assert answer.status_code == 403
    assert f"--allow-origins {origin}" in answer.json()["detail"]
    assert "access-control-allow-origin" not in answer.headers


def test_a_foreign_page_opens_no_socket(serve: Serve) -> None:
    client = guarded(serve)
    address = str(client.base_url).rstrip("/").replace("http", "ws") + "/run_live?app_name=clerk&user_id=u&session_id=s"
    with pytest.raises(InvalidStatus) as refused, connect(address, origin="http://evil.example"):  # type: ignore[arg-type]
        pass
    assert refused.value.response.status_code == 403


def test_own_and_listed_origins(serve: Serve) -> None:
    client = guarded(serve, origins=("https://my.example", r"regex:https://\w+\.team\.example"), token=TOKEN)
    own = str(client.base_url).rstrip("/")
    assert client.get("/list-apps", headers={"origin": own, **bearer()}).status_code == 200
    for origin in ("https://my.example", "https://ann.team.example"):
        answer = client.get("/list-apps", headers={"origin": origin, **bearer()})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
        asked = {"origin": origin, "access-control-request-method": "POST"}
        preflight = client.options("/run", headers=asked)
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin)
    assert client.get("/list-apps", headers={"origin": "https://ann.team.example.evil", **bearer()}).status_code == 403
    assert client.get("/list-apps", headers={"sec-fetch-site": "cross-site", **bearer()}).status_code == 403


@given(st.text(max_size=20), st.sampled_from(["127.0.0.1", "localhost", "my.example"]))
def test_only_a_known_name_is_a_host(text: str, name: str) -> None:
    hosts = Hosts(("my.example",))
    for host in (name + text, text + name, text):
        if hosts.allows(host):
            assert re.fullmatch(r"(127\.0\.0\.1|localhost|my\.example|\[::1\])(:[0-9]+)?", host.lower())
    assert not Origins(()).is_own(f"http://{text}{name}", name) or text == ""


# --- bodies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "application/jsonp", "text/json"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_body_is_json(serve: Serve, kind: str, method: str) -> None:
    client = guarded(serve)
    answer = client.request(method, f"{SESSIONS}/s", content=b"{}", headers={"content-type": kind} if kind else {})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize(
    "state",
    [
        '"\\ud800"',
        '"\\udfff x"',
        "NaN",
        "-Infinity",
        "1e999",
        "9" * 400,
        "9" * 6000,
        "[" * 300 + "]" * 300,
        '{"a":' * 150 + "1" + "}" * 150,
        "{",
        '"\xff',
    ],
)
def test_what_could_not_be_read_back_is_not_stored(serve: Serve, state: str) -> None:
    client = guarded(serve)
    content = f'{{"state": {{"x": {state}}}}}'.encode("latin-1")
    answer = client.post(f"{SESSIONS}/s", content=content, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert client.get(f"{SESSIONS}/s").status_code == 404
    assert client.post(f"{SESSIONS}/s", json={"state": {"x": 1}}).status_code == 200


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=20,
)


@settings(max_examples=200)
@given(_VALUES, st.integers(0, 150), st.booleans())
def test_the_limits_of_json(value: Any, depth: int, escaped: bool) -> None:
    opened, closed = ("[", "]") if depth % 2 else ('{"k":', "}")
    body = (opened * depth + json.dumps(value, ensure_ascii=escaped) + closed * depth).encode("utf-8", "surrogatepass")

    def levels(one: Any) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if inner is None else 1 + max(map(levels, inner), default=0)

    if levels(value) + depth <= MAX_DEPTH:
        check_json(body)
    else:
        with pytest.raises(Refusal, match="deep"):
            check_json(body)


def test_digits_in_a_text_are_no_number() -> None:
    check_json(json.dumps({"x": "9" * 5000, "y": "1e999"}).encode())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_before_it_is_held(serve: Serve, chunked: bool) -> None:
    client = guarded(serve, max_body=100_000)

    def pieces() -> Any:
        yield from (b" " * 100_000 for _ in range(30))

    headers = {"content-type": "application/json"}
    content = pieces() if chunked else b" " * 3_000_000
    answer = client.post(SESSIONS, content=content, headers=headers)
    assert answer.status_code == 413
    assert "--max-body" in answer.json()["detail"]
    assert client.post(SESSIONS, json={"state": {"x": "y" * 50_000}}).status_code == 200


def test_half_a_request_is_closed_in_time(serve_guarded: Any) -> None:
    client = serve_guarded(seconds=0.5)
    head = b"POST /apps/clerk/users/u/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    halves = [
        b"",
        b"GET / HT",
        head,
        head + b"content-length: 10\r\n\r\n{",
        head + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
    ]
    for half in halves:
        began = time.monotonic()
        answer = raw(client, half)
        assert time.monotonic() - began < 30
        assert answer.startswith(b"HTTP/1.1 408") if half else answer == b""
    # A second half request on a connection that served a whole one.
    began = time.monotonic()
    answer = raw(client, b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGET /hea")
    assert time.monotonic() - began < 30
    assert answer.startswith(b"HTTP/1.1 200")


def test_bytes_that_are_no_request_stop_nothing(serve: Serve) -> None:
    client = guarded(serve)
    chance = random.Random(5)
    for _ in range(50):
        data = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 200))) + b"\r\n\r\n"
        answer = raw(client, data)
        assert not answer or answer.startswith(b"HTTP/1.1 4")
        assert b"Traceback" not in answer
    assert client.get("/health").status_code == 200


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/list-apps", "/nothing", "/docs", "/apps/clerk/users/u/sessions/none"])
def test_every_answer_says_what_a_browser_may_do(serve: Serve, path: str) -> None:
    headers = guarded(serve).get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert "x-powered-by" not in headers
