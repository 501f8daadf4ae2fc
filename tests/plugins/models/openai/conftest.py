"""A server that speaks OpenAI's protocols, and calls of models that end there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel_testkit.wire import WireServer
from newel_testkit.wire.caller import Caller

KEY = "sk-test-SECRET-0123456789"
_ELSEWHERE = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS", "OPENAI_ADMIN_KEY")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    for name in _ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with WireServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base["openai"])
        yield running


@pytest.fixture
def chat(server: WireServer) -> Caller:
    return Caller(server, lambda name: OpenAILlm(model=name), "gpt-4o")


@pytest.fixture
def responses(server: WireServer) -> Caller:
    return Caller(server, lambda name: OpenAIResponsesLlm(model=name), "gpt-4o")
