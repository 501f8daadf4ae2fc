"""The kit of requests, answers, faults and connections, through Anthropic's SDK."""

from __future__ import annotations

import pytest

from newel.models import BaseLlm
from newel.models.anthropic_llm import AnthropicLlm
from newel_testkit import WIRE_KEY, model_checks
from newel_testkit.wire.conformance import PARTS, run_checks


@pytest.mark.parametrize("part", PARTS)
def test_the_provider_conforms(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", WIRE_KEY)

    def make(base_url: str, name: str) -> BaseLlm:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", base_url)
        return AnthropicLlm(model=name)

    run_checks(model_checks(make, protocol="anthropic"), part)
