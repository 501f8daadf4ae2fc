"""A Redis of the tests' own."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError


class Server:
    """A Redis of the test's own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = Redis(port=self.port)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            assert self.process.poll() is None, "redis-server ended"
            try:
                self.client.ping()
                return
            except (OSError, RedisError):
                continue

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def value(self, key: bytes) -> bytes:
        return self.client.get(key) or b"" if self.client.type(key) == b"string" else b""

    def held(self) -> list[bytes]:
        return sorted(self.client.scan_iter("*"))


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server here")
    server = Server(tmp_path_factory.mktemp("redis"))
    yield server
    server.client.close()
    server.kill()


@pytest.fixture
def server(_server: Server) -> Server:
    if _server.process.poll() is not None:
        _server.start()
    _server.client.flushall()
    return _server
