"""A server that speaks Anthropic's protocol, and calls of Claude that end there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from newel.models.anthropic_llm import AnthropicLlm
from newel_testkit.wire import WireServer
from newel_testkit.wire.caller import Caller

_ELSEWHERE = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The only key that the environment has."""
    for name in _ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-SECRET-0123456789")
    return "sk-test-SECRET-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, key: str) -> Iterator[WireServer]:
    with WireServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base["anthropic"])
        yield running


@pytest.fixture
def claude(server: WireServer) -> Caller:
    return Caller(server, lambda name: AnthropicLlm(model=name), "claude-sonnet-4-5")
