"""The tool with which a model hands the conversation to another agent."""

from __future__ import annotations

from collections.abc import Sequence

from newel.tools.function_tool import FunctionTool
from newel_kernel import ToolContext
from newel_types import FunctionDeclaration


def transfer_to_agent(agent_name: str, tool_context: ToolContext) -> None:
    """Transfer the question to another agent.

    Use this tool to hand control over to another agent when it suits the user's question better according to
    its description.

    Args:
        agent_name: the name of the agent to transfer to.
    """
    tool_context.actions.transfer_to_agent = agent_name


class TransferToAgentTool(FunctionTool):
    """`transfer_to_agent`, whose argument is one of the given names."""

    def __init__(self, agent_names: Sequence[str]) -> None:
        super().__init__(transfer_to_agent)
        self._agent_names = list(agent_names)

    def _get_declaration(self) -> FunctionDeclaration:
        declared = self.__newel__.declaration is not None
        declaration = super()._get_declaration()
        if not declared:
            declaration.parameters_json_schema["properties"]["agent_name"]["enum"] = self._agent_names
        return declaration
