"""Transfers: an agent hands the conversation over to another one of its tree."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

from newel.turns.delegates import is_delegate
from newel_kernel import BaseAgent, Event, InvocationContext, current_operation, did_you_mean, subtree


class Handover(Event):
    """An agent's request to its driver, `relay`: run `target` now, then resume me.

    Never stored nor yielded to a caller. It keeps a chain of transfers flat: the agent that transferred stays
    suspended, and the driver, not its frame, runs the next one. Afterwards it stands for the target's last event (for
    `results`, which asked for the transfer, if the target said nothing).
    """

    __slots__ = ("context", "last", "operation", "target")

    def __init__(self, target: BaseAgent, context: InvocationContext, results: Event | None = None) -> None:
        super().__init__(context.invocation_id, context.agent.name, None, True, id="handover", timestamp=0.0)
        self.target = target
        self.context = context
        #: The agent's run, of which the target's is a part.
        self.operation = current_operation.get()
        self.last = results

    def ends(self, last: Event | None) -> None:
        """Note that the target has run, and the last event that it yielded."""
        self.last = last = last or self.last
        if last is not None:
            self.partial = last.partial
            if (actions := last.touched_actions) is not None and actions.skip_summarization:
                self.actions.skip_summarization = True

    def is_final_response(self) -> bool:
        """Whether what the target said last ends its turn; False before it has run."""
        last = self.last
        return not self.partial and last is not None and (last.content is None or last.is_final_response())


def transfer_targets(agent: BaseAgent) -> list[BaseAgent]:
    """The agents that a model's `agent` may transfer to: its own, its parent, its peers; not those that are tools."""
    targets = [child for child in agent.sub_agents if not is_delegate(child)]
    parent = agent.parent_agent
    if parent is not None and parent.__newel__.transfers:
        if not getattr(agent, "disallow_transfer_to_parent", False):
            targets.append(parent)
        if not getattr(agent, "disallow_transfer_to_peers", False):
            targets.extend(peer for peer in parent.sub_agents if peer.name != agent.name and not is_delegate(peer))
    return targets


def transfer(ctx: InvocationContext, results: Event) -> Iterator[Event]:
    """What follows the committed `results` of tools, one of which named the agent to go on with.

    Raises ValueError, which names the known agents, if that is none of them.
    """
    name, root = results.actions.transfer_to_agent or "", ctx.agent.root_agent
    target = root.find_agent(name)
    if target is None:
        names = [agent.name for agent in subtree(root)]
        raise ValueError(
            f"Agent {name} not found in the agent tree. Available agents: {', '.join(names)}{did_you_mean(name, names)}"
        )
    if target is not ctx.agent:  # an agent that transfers to itself just continues
        yield Handover(target, ctx, results)


async def relay(agent: BaseAgent, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
    """The events of `agent`, and those of the agents that it hands over to, without nesting: see `Handover`."""
    running = [agent.__newel__.enter(parent_context)]
    handovers: list[tuple[Handover, Event | None]] = []  # each with the latest event before it
    latest: Event | None = None
    try:
        while running:
            async for event in running[-1]:
                if isinstance(event, Handover):
                    handovers.append((event, latest))
                    running.append(event.target.__newel__.enter(event.context, event.operation))
                    break
                latest = event
                yield event
            else:
                running.pop()
                if handovers:
                    handover, before = handovers.pop()
                    handover.ends(latest if latest is not before else None)
    finally:
        for generator in reversed(running):
            await generator.aclose()
