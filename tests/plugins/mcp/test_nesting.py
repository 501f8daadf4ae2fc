"""A schema that is nested beyond what parsers read costs its tool, and not the list."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, results

from newel.mcp.client.nesting import pruned

_PAGE = b'{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s,%s]}}'
_GOOD = b'{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}'


def deep(levels: int) -> bytes:
    inner = b'{"type":"object","properties":{"a":' * levels + b'{"type":"string","title":"]}{[\\""}' + b"}}" * levels
    return b'{"name":"deep","inputSchema":%s}' % inner


class Listing(BaseHTTPRequestHandler):
    """A server of the handshake that lists one good and one deep tool."""

    levels, streams = 300, False
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self.reply(202, b"")
            return
        number = str(message["id"]).encode()
        if message["method"] == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            result: Any = {**about, "serverInfo": {"name": "deep", "version": "1"}}
        elif message["method"] == "tools/list":
            self.reply(200, _PAGE % (number, deep(self.levels), _GOOD))
            return
        else:
            result = {"content": [{"type": "text", "text": "x"}]}
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def do_GET(self) -> None:
        self.reply(405, b"")

    def do_DELETE(self) -> None:
        self.reply(200, b"")

    def reply(self, status: int, body: bytes) -> None:
        if self.streams and body:
            body = b"event: message\ndata: " + body + b"\n\n"
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if self.streams and body else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listing() -> Iterator[Make]:
    servers = []

    def start(levels: int, streams: bool) -> Any:
        handler = type("Handler", (Listing,), {"levels": levels, "streams": streams})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        server.url = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("levels", [300, 20_000])
@in_a_loop
async def test_a_deep_schema_over_http_drops_one_tool(
    listing: Make, http: Make, caplog: pytest.LogCaptureFixture, levels: int, streams: bool
) -> None:
    toolset = http(listing(levels, streams))
    talk = Talk([toolset], call("echo", text="x"))
    assert results(await talk.say()) == [{"content": [{"type": "text", "text": "x"}]}]
    await toolset.close()
    assert set(talk.declared()) == {"echo"}
    assert "levels deep" in caplog.text


@in_a_loop
async def test_a_deep_schema_of_a_process_drops_one_tool(stdio: Make, caplog: pytest.LogCaptureFixture) -> None:
    toolset = stdio("raw", "abyss")
    talk = Talk([toolset], call("echo", text="x"))
    assert "error" not in results(await talk.say())[0]
    await toolset.close()
    assert set(talk.declared()) == {"echo"}
    assert "levels deep" in caplog.text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab{}[]"\\\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a{}[]"\\'), inner, max_size=3),
)


@given(_JSON, st.integers(min_value=0, max_value=130), st.booleans())
def test_what_is_left_is_json_with_the_same_upper_levels(value: Any, levels: int, objects: bool) -> None:
    data = value
    for _ in range(levels):
        data = {"k": data, "n": 1} if objects else [data, 1]
    text = json.dumps(data).encode()
    shallow = json.loads(pruned(text))
    for _ in range(min(levels, 99)):
        assert (shallow["n"] if objects else shallow[1]) == 1
        shallow = shallow["k"] if objects else shallow[0]
    if pruned(text) == text:
        assert shallow is not None or value is None or levels > 99
    else:
        assert levels > 90
