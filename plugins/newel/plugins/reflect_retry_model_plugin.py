"""ReflectAndRetryModelPlugin: a model call that failed is made again, after a pause that grows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import cast

from newel.budgets import BudgetExceededError
from newel.plugins.base_plugin import BasePlugin
from newel_kernel import ConfigurationError, Context, LlmCallsLimitExceededError, LlmRequest, LlmResponse, ModelAgent


class ReflectAndRetryModelPlugin(BasePlugin):
    """Asks the model again up to `max_retries` times; the pauses are `delay_seconds`, twice that, and so on.

    `retry_on` says which errors are worth it; None: all but the limit of calls. Each attempt counts as a call. The
    answer of a retry comes whole, even if a stream was requested.
    """

    def __init__(
        self,
        name: str = "reflect_retry_model_plugin",
        max_retries: int = 3,
        delay_seconds: float = 0.5,
        retry_on: Callable[[Exception], bool] | None = None,
    ) -> None:
        super().__init__(name)
        if max_retries < 0 or delay_seconds < 0:
            raise ConfigurationError("max_retries and delay_seconds must not be negative")
        self.max_retries = max_retries
        self.delay_seconds = delay_seconds
        self.retry_on = retry_on

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """The answer of a later attempt, or None: then the first error stands."""
        ctx = callback_context.get_invocation_context()
        agent = cast(ModelAgent, ctx.agent)
        for attempt in range(self.max_retries):
            if isinstance(error, (LlmCallsLimitExceededError, BudgetExceededError)):
                return None
            if self.retry_on is not None and not self.retry_on(error):
                return None
            await asyncio.sleep(self.delay_seconds * 2**attempt)
            ctx.increment_llm_call_count()
            try:
                async with aclosing(
                    agent.__newel__.model_for(ctx).generate_content_async(llm_request, stream=False)
                ) as answers:
                    async for answer in answers:
                        return LlmResponse.model_validate(answer)
            except Exception as again:  # noqa: BLE001 - a provider's error, of any kind; the first one is raised
                error = again
        return None
