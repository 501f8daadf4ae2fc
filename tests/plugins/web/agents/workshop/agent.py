"""A graph of nodes whose model is busy at first and then streams, so that tries, first tokens and nodes are seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import ClassVar

from newel import Agent, Workflow
from newel.models import BaseLlm
from newel.types import Content, GenerateContentResponseUsageMetadata, HttpRetryOptions, Part
from newel_kernel import LlmRequest, LlmResponse, ModelError


class Busy(BaseLlm):
    """Refuses each first request of a conversation, then answers in chunks."""

    model: str = "claude-sonnet-4-5"
    networked: ClassVar[bool] = True
    retry_options: HttpRetryOptions = HttpRetryOptions(initial_delay=0.2)
    refused: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer, at the second try."""
        self.refused = (self.refused + 1) % 2
        if self.refused:
            raise ModelError("too many requests", code=429, retryable=True)
        await asyncio.sleep(0.05)
        for word in ("The heel ", "is glued ", "again."):
            if stream:
                yield LlmResponse(content=Content(role="model", parts=[Part(text=word)]), partial=True)
            await asyncio.sleep(0.05)
        usage = {"promptTokenCount": 2_400, "candidatesTokenCount": 12, "cachedContentTokenCount": 1_000, "cost": 0.005}
        yield LlmResponse(
            content=Content(role="model", parts=[Part(text="The heel is glued again.")]),
            usage_metadata=GenerateContentResponseUsageMetadata.model_validate(usage),
            model_version=self.model,
        )


def measure(node_input: object) -> str:
    """Note what was brought."""
    return "boots, size 42"


cobbler = Agent(name="cobbler", model=Busy(), instruction="You mend shoes.")
root_agent = Workflow(name="workshop", edges=[("START", measure, cobbler)])
