"""The contract of turns: whose turn it is. The runner asks for each message, the loop before it calls a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.agent import BaseAgent
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.invocation import InvocationContext
    from newel_kernel._internal.log import Log, Turn


class Turns:
    """Where no plugin says better, the root agent answers every message, in a new invocation, and nothing waits."""

    __slots__ = ()

    def check(self, root: BaseAgent) -> None:
        """Raise ConfigurationError where a message cannot be for `root`."""

    def continued(self, root: BaseAgent, turn: Turn, resumable: bool) -> str | None:
        """The id of the unfinished invocation that the message goes on with; None: it begins one."""
        return None

    def resume(self, ctx: InvocationContext) -> None:
        """Make the context of a new run that of the invocation whose id it has, and which began before."""
        raise ConfigurationError(
            f"the invocation {ctx.invocation_id!r} cannot be resumed: no plugin of the distribution says how; "
            f"enable the plugin 'turns'"
        )

    def messages(self, ctx: InvocationContext, turn: Turn) -> list[Event]:
        """The events of the message, one for each conversation that it belongs to."""
        return [Event(invocation_id=ctx.invocation_id, author="user", content=turn.content)]

    def agent(self, root: BaseAgent, log: Log) -> BaseAgent:
        """Who answers the message at the end of the log."""
        return root

    def waits(self, ctx: InvocationContext) -> bool:
        """Whether the agent that runs waits for an answer, so that its model is not to be asked."""
        return False

    async def interrupted(self, ctx: InvocationContext, tools: Mapping[str, BaseTool]) -> Iterable[Event]:
        """The results of the agent's calls that an interrupted run of the invocation left open."""
        return ()
