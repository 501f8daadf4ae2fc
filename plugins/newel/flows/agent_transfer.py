"""agent_transfer: tells the model which agents it can transfer to, and gives it the tool.

Specified in docs/reference/behaviour.md#transfer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from newel import tools
from newel.agents.opening import mode_of
from newel.flows.llm_agents import LlmContext, agent_processor
from newel.turns.transfers import transfer_targets
from newel_kernel import LlmRequest, RequestProcessor, hookimpl

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.flows.llm_agents import RequestStep

    #: The instructions and the tool.
    Offer: TypeAlias = tuple[str, tuple[tools.TransferToAgentTool]]


def transfer_instructions(targets: Sequence[tuple[str, str]], parent: str) -> str:
    """The specified wording (docs/reference/behaviour.md#transfer-instructions).

    `targets` are pairs of a name and a description; `parent` is the parent's name or "".
    """
    listed = "\n\n".join(f"Agent name: {name}\nAgent description: {description}" for name, description in targets)
    names = ", ".join(f"`{name}`" for name in sorted(name for name, _ in targets))
    text = f"""You have a list of other agents to transfer to:

{listed}

If you are the best to answer the question according to your description,
you can answer it.

If another agent is better for answering the question according to its
description, call `transfer_to_agent` function to transfer the question to that
agent. When transferring, do not generate any text other than the function call.

**NOTE**: the only available agents for `transfer_to_agent` function are
{names}.
"""
    if parent:
        text += f"""
If neither you nor the other agents are best for the question, transfer to your parent agent {parent}.
"""
    return text


@lru_cache(maxsize=1024)
def _offer(targets: tuple[tuple[str, str], ...], parent: str) -> Offer:
    """The instructions and the tool for these targets, the declaration of which is built once."""
    tool = tools.TransferToAgentTool(agent_names=[name for name, _ in targets])
    return transfer_instructions(targets, parent), (tool,)


def _offer_of(agent: LlmAgent) -> Offer | None:
    targets = transfer_targets(agent)
    if not targets:
        return None
    parent = agent.parent_agent
    upwards = parent.name if parent is not None and not agent.disallow_transfer_to_parent else ""
    return _offer(tuple([(target.name, target.description) for target in targets]), upwards)


def for_agent(agent: LlmAgent) -> RequestStep:
    """The step that appends the instructions and declares the tool, if a target exists."""
    offer = _offer_of(agent)

    def append(ctx: LlmContext, request: LlmRequest) -> None:
        if offer is None:
            return
        if ctx.opening is None or mode_of(ctx) == "chat":
            request.append_instruction(offer[0])
        request.append_tools(offer[1])

    return append


def applies_to(agent: LlmAgent) -> bool:
    """AutoFlow (docs/reference/behaviour.md#the-request-chain): only for an agent that has others to transfer to."""
    return bool(transfer_targets(agent))


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `agent_transfer`."""
    return [agent_processor("agent_transfer", for_agent, applies_to=applies_to)]
