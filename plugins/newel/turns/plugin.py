"""The plugin of turns: transfers, tasks and graphs keep the conversation, and invocations resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from newel.turns.delegates import is_delegate
from newel.turns.interruption import finish_calls
from newel.turns.pauses import waits
from newel.turns.resumption import continued, resume
from newel.turns.routing import choose_agent, messages
from newel_kernel import (
    BaseAgent,
    BaseTool,
    ConfigurationError,
    Event,
    InvocationContext,
    Log,
    Turn,
    TurnPolicy,
    Turns,
    hookimpl,
)


class ConversationTurns(Turns):
    """The turns of conversations that move between agents (S0 §1.4) and of invocations that resume (S0 §10)."""

    __slots__ = ()

    def check(self, root: BaseAgent) -> None:
        """Refuse a root that works for another agent."""
        if is_delegate(root):
            raise ConfigurationError(
                f"the root agent {root.name!r} has a mode in which it works for another agent; "
                f"give it mode='chat', or make it a sub-agent of one that chats"
            )

    def continued(self, root: BaseAgent, turn: Turn, resumable: bool) -> str | None:
        """See `resumption.continued`."""
        return continued(root, turn, resumable)

    def resume(self, ctx: InvocationContext) -> None:
        """See `resumption.resume`."""
        resume(ctx)

    def messages(self, ctx: InvocationContext, turn: Turn) -> list[Event]:
        """See `routing.messages`."""
        return messages(ctx, turn)

    def agent(self, root: BaseAgent, log: Log) -> BaseAgent:
        """See `routing.choose_agent`."""
        return choose_agent(root, log)

    def waits(self, ctx: InvocationContext) -> bool:
        """See `pauses.waits`."""
        return ctx.is_resumable and bool(waits(ctx))

    async def interrupted(self, ctx: InvocationContext, tools: Mapping[str, BaseTool]) -> Iterable[Event]:
        """See `interruption.finish_calls`."""
        return await finish_calls(ctx, tools)


@hookimpl
def register_turn_policies() -> list[TurnPolicy]:
    """The one policy."""
    return [TurnPolicy(turns=ConversationTurns())]
