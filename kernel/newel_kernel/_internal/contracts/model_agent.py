"""The contract of an agent that the reason-act loop drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.model import BaseLlm
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import InvocationContext


class ModelAgent(Protocol):
    """A BaseAgent that has a model and tools."""

    @property
    def name(self) -> str:
        """The agent's name."""

    @property
    def tools(self) -> Sequence[object]:
        """Tools, toolsets, and entries that `as_tools` turns into tools."""

    def new_request(self) -> LlmRequest:
        """An empty request, for the request chain to prepare."""

    def model_for(self, ctx: InvocationContext) -> BaseLlm:
        """The model that answers."""

    def as_tools(self, entry: object, ctx: InvocationContext) -> Sequence[BaseTool]:
        """The tools of one entry of `tools` that is not a toolset."""

    def plain_tools(self, ctx: InvocationContext) -> Sequence[BaseTool] | None:
        """The agent's tools if each of them only declares itself, else None."""
