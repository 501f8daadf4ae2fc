"""The kit of requests, answers, faults and connections, through OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import pytest

from newel.models import BaseLlm
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel_testkit import WIRE_KEY, model_checks
from newel_testkit.wire.conformance import PARTS, run_checks

_PROVIDERS = [
    (OpenAILlm, "openai", {}),
    (OpenAILlm, "compatible", {"endpoint": "lab"}),
    (OpenAIResponsesLlm, "openai-responses", {}),
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("kind", "protocol", "fields"), _PROVIDERS, ids=[one[1] for one in _PROVIDERS])
def test_the_provider_conforms(
    part: str, kind: Any, protocol: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(base_url: str, name: str) -> BaseLlm:
        model: BaseLlm = kind(model=name, base_url=base_url, api_key=WIRE_KEY, **fields)
        return model

    run_checks(model_checks(make, protocol=protocol), part)
