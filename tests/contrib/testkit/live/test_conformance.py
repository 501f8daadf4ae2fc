"""Both providers' connections do the same, through their SDKs, with every fault."""

from __future__ import annotations

import pytest

from newel_testkit.live.conformance import Case, live_conformance
from newel_testkit.live.dialects import GeminiDialect, OpenAIDialect


@pytest.mark.parametrize("case", [*live_conformance(GeminiDialect()), *live_conformance(OpenAIDialect())], ids=str)
def test_conforms(case: Case) -> None:
    case()
