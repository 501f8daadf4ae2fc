"""The contract of an agent that the reason-act loop drives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from newel_kernel._internal.contracts.agent import AgentDriver

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.model import BaseLlm
    from newel_kernel._internal.contracts.request import LlmRequest
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import InvocationContext


class ModelAgent(Protocol):
    """A BaseAgent that has tools, and a ModelDriver."""

    @property
    def name(self) -> str:
        """The agent's name."""

    @property
    def tools(self) -> Sequence[object]:
        """Tools, toolsets, and entries that `ModelDriver.as_tools` turns into tools."""

    @property
    def __newel__(self) -> ModelDriver:
        """The agent's driver."""


class ModelDriver(AgentDriver):
    """The driver of an agent that has a model and tools."""

    __slots__ = ()

    @abstractmethod
    def new_request(self) -> LlmRequest:
        """An empty request, for the request chain to prepare."""

    @abstractmethod
    def model_for(self, ctx: InvocationContext) -> BaseLlm:
        """The model that answers."""

    @abstractmethod
    def as_tools(self, entry: object, ctx: InvocationContext) -> Sequence[BaseTool]:
        """The tools of one entry of the agent's `tools` that is not a toolset."""

    @abstractmethod
    def plain_tools(self, ctx: InvocationContext) -> Sequence[BaseTool] | None:
        """The agent's tools if each of them only declares itself, else None."""
