"""unknown_agents: a transfer to an agent that does not exist is answered with the known names."""

from __future__ import annotations

from newel_kernel import BaseTool, Context, Json, ToolCall, ToolPolicy, hookimpl, subtree


def wrap(call_tool: ToolCall) -> ToolCall:
    """Take back a transfer that leads nowhere. The model gets an error, and is asked again."""

    async def checked(tool: BaseTool, args: Json, context: Context) -> object:
        result = await call_tool(tool, args, context)
        actions = context.touched_actions
        target = actions.transfer_to_agent if actions is not None else None
        if not target or actions is None:
            return result
        root = context.get_invocation_context().agent.root_agent
        if root.find_agent(target) is not None:
            return result
        actions.transfer_to_agent = None
        names = sorted(one.name for one in subtree(root))
        return {"error": f"there is no agent named {target!r}; the agents are: {', '.join(names)}"}

    return checked


@hookimpl
def register_tool_policies() -> list[ToolPolicy]:
    """The policy `unknown_agents`."""
    return [ToolPolicy(name="unknown_agents", wrap=wrap)]
