"""Both providers' connections do the same, through their SDKs, with every fault."""

from __future__ import annotations

import pytest

from newel.testing.live.conformance import Case, live_conformance
from newel.testing.live.dialects import GeminiDialect, OpenAIDialect


@pytest.mark.parametrize("case", [*live_conformance(GeminiDialect()), *live_conformance(OpenAIDialect())], ids=str)
def test_conforms(case: Case) -> None:
    case()
