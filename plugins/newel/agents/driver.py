"""The driver of newel's agents: it has their callbacks bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import newel_compose
from newel.agents.naming import reword
from newel_kernel import AgentDriver, BaseToolset, Callbacks, NewelError
from newel_types import caller_place

if TYPE_CHECKING:
    from newel.agents.base_agent import BaseAgent


class Driver(AgentDriver):
    """Runs an agent between its callbacks."""

    __slots__ = ("_bound",)

    #: Whether the agent marks its end with an event in a resumable app; in a graph, the nodes do so instead.
    notes_end: ClassVar[bool] = True

    def __init__(self, agent: BaseAgent) -> None:
        super().__init__(agent)
        #: The bound callbacks by hook, each with the values that they were made from, and the identities of these.
        self._bound: dict[str, tuple[Callbacks, list[int], list[object]]] = {}

    def toolsets(self) -> list[BaseToolset]:
        """The toolsets that the runner closes."""
        tools = getattr(self.agent, "tools", None)
        return [tool for tool in tools if isinstance(tool, BaseToolset)] if isinstance(tools, (list, tuple)) else []

    def callbacks(self, hook: str) -> Callbacks:
        """The agent's own callbacks for `hook`, bound by keyword; checked again when the field or its list changes."""
        value: object = getattr(self.agent, hook)
        if value is None:
            return ()
        values = value if isinstance(value, list) else [value]
        bound = self._bound.get(hook)
        if bound is None or [*map(id, values)] != bound[1]:
            try:
                callbacks = newel_compose.as_callbacks(hook, value, f"agent {self.agent.name!r}")
            except NewelError as error:
                reword(error, f"{error}{caller_place()}")
                raise
            bound = self._bound[hook] = (callbacks, [*map(id, values)], list(values))
        return bound[0]
