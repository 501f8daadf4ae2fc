"""unknown_agents: a transfer that leads nowhere, or where the agent may not transfer to, is an error result."""

from __future__ import annotations

from collections.abc import Iterable

from newel.turns.transfers import transfer_targets
from newel_kernel import BaseAgent, BaseTool, Context, Json, ToolCall, ToolPolicy, did_you_mean, hookimpl, subtree

#: The tool with which a model names the agent. A tool of the app's own may transfer to every agent of the tree.
_TRANSFER = "transfer_to_agent"


def wrap(call_tool: ToolCall) -> ToolCall:
    """Take back a transfer to no target of the agent. The model gets an error, and is asked again."""

    async def checked(tool: BaseTool, args: Json, context: Context) -> object:
        result = await call_tool(tool, args, context)
        actions = context.touched_actions
        if actions is None or actions.transfer_to_agent is None:
            return result
        problem = _problem(tool, context.get_invocation_context().agent, actions.transfer_to_agent)
        if problem is None:
            return result
        actions.transfer_to_agent = None
        return {"error": problem}

    return checked


def _problem(tool: BaseTool, agent: BaseAgent, name: str) -> str | None:
    """Why `agent` cannot transfer to the agent called `name`, or None."""
    root = agent.root_agent
    exists = root.find_agent(name) is not None
    if tool.name != _TRANSFER or not agent.__newel__.transfers:
        return None if exists else _unknown(name, (one.name for one in subtree(root)), "the agents are")
    # A tool of that name that the app has made itself says where it leads.
    targets = getattr(tool, "_agent_names", None) or [one.name for one in transfer_targets(agent)]
    if exists and name in targets:
        return None
    if not exists:
        return _unknown(name, targets, "you can transfer to")
    others = f"you can transfer to: {', '.join(sorted(targets))}" if targets else "there is nobody to transfer to"
    return f"the agent {agent.name!r} cannot transfer to {'itself' if name == agent.name else repr(name)}; {others}"


def _unknown(name: str, names: Iterable[str], what: str) -> str:
    known = sorted(names)
    return f"there is no agent named {name!r}; {what}: {', '.join(known) or 'none'}{did_you_mean(name, known)}"


@hookimpl
def register_tool_policies() -> list[ToolPolicy]:
    """The policy `unknown_agents`."""
    return [ToolPolicy(name="unknown_agents", wrap=wrap)]
