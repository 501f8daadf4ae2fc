"""An account without credit: OpenAI is not asked again, and the error says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from newel.models import BaseLlm
from newel.models.openai_llm import OpenAILlm
from newel.models.openai_responses_llm import OpenAIResponsesLlm
from newel_kernel import LlmRequest, ModelError
from newel_testkit import WireServer
from newel_testkit.wire.caller import user
from newel_testkit.wire.faults import fault

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
MODELS: dict[str, Callable[[WireServer], BaseLlm]] = {
    "openai": lambda server: OpenAILlm(model="gpt-6.1-terra"),
    "openai-responses": lambda server: OpenAIResponsesLlm(model="gpt-6.1-terra"),
}


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("stream", [False, True])
def test_it_is_asked_once(wire_server: WireServer, provider: str, stream: bool) -> None:
    model = MODELS[provider](wire_server)
    wire_server.script(*[fault("429_spent")] * 4)

    async def ask() -> None:
        async for _ in model.generate_content_async(LlmRequest(model=model.model, contents=[user("Hi")]), stream):
            pass

    with pytest.raises(ModelError, match="no credit left: add some, or use another key") as caught:
        asyncio.run(ask())
    assert not caught.value.retryable
    assert len(wire_server.bodies) == 1
