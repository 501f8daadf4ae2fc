"""The contract of a model: a request in, responses out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator

from pydantic import BaseModel, ConfigDict

from newel_kernel._internal.contracts.request import LlmRequest
from newel_kernel._internal.contracts.response import LlmResponse


class BaseLlm(BaseModel, ABC):
    """A model, as the loop calls it. Implement `newel.models.BaseLlm`, which says more of what a model can do."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: The model's name, as its provider knows it.
    model: str

    @abstractmethod
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the answer to `llm_request`.

        With `stream` false: one response. With `stream` true: chunks with `partial=True`, then one whole
        response. A failure is an exception or a response with an `error_code`.
        """
