"""The kit of requests, answers, faults and connections, through LiteLLM."""

from __future__ import annotations

import pytest

from newel.models import BaseLlm
from newel.models.lite_llm import LiteLlm
from newel_testkit import WIRE_KEY, model_checks
from newel_testkit.wire.conformance import PARTS, run_checks

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
#: LiteLLM cannot say that a tool's result is an error.
_UNSAYABLE = {"openai": (), "anthropic": ("result error",)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_the_provider_conforms(part: str, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(base_url: str, name: str) -> BaseLlm:
        return LiteLlm(model=f"{protocol}/{name}", api_base=base_url, api_key=WIRE_KEY)

    run_checks(model_checks(make, protocol=protocol, unsayable=_UNSAYABLE[protocol]), part)
