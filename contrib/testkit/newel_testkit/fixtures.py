"""A pytest plugin: running servers for tests. pytest loads it in every run, so it imports little."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from newel_testkit.gemini_server import GeminiServer
    from newel_testkit.wire.server import WireServer


@pytest.fixture
def gemini_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    """A running `GeminiServer` that the environment points to; its script must be used up when the test ends."""
    from newel_testkit.gemini_server import GeminiServer  # noqa: PLC0415 - only the tests that use it pay for it

    _stay_here(monkeypatch)
    with GeminiServer() as server:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key-0123456789")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


@pytest.fixture
def wire_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A running `WireServer`; the environment leads each SDK to it, with `WIRE_KEY` as the key."""
    from newel_testkit.wire.bench import WIRE_KEY  # noqa: PLC0415 - as above
    from newel_testkit.wire.environment import VARIABLES, variables  # noqa: PLC0415
    from newel_testkit.wire.server import WireServer  # noqa: PLC0415

    with WireServer() as server:
        for name, value in variables(server.base, tuple(VARIABLES), WIRE_KEY).items():
            monkeypatch.setenv(name, value)
        _stay_here(monkeypatch)
        yield server


def _stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables that would lead an SDK elsewhere, and keep SDKs from using a proxy."""
    from newel_testkit.wire.environment import ELSEWHERE  # noqa: PLC0415 - as above

    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, ",".join(filter(None, (os.environ.get(name), "127.0.0.1"))))
