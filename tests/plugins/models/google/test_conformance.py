"""The kit of requests, answers, faults and connections, through google-genai."""

from __future__ import annotations

import pytest

from newel.models import BaseLlm
from newel.models.google_llm import Gemini
from newel_testkit import WIRE_KEY, model_checks
from newel_testkit.wire.conformance import PARTS, run_checks

# The SDK's own, of a finish reason that it has not heard of.
pytestmark = pytest.mark.filterwarnings("ignore:brand_new_reason:UserWarning")


@pytest.mark.parametrize("part", PARTS)
def test_the_provider_conforms(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GOOGLE_API_KEY", WIRE_KEY)
    monkeypatch.delenv("GOOGLE_GENAI_USE_VERTEXAI", raising=False)

    def make(base_url: str, name: str) -> BaseLlm:
        return Gemini(model=name, base_url=base_url)

    run_checks(model_checks(make, protocol="gemini"), part)
