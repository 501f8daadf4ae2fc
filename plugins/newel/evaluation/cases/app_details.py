"""The agents of a turn: their instructions and tools as the model saw them."""

from typing import Any

from pydantic import Field

from newel.evaluation.cases.base_model import EvalBaseModel
from newel_types import Tool


class AgentDetails(EvalBaseModel):
    """One agent's system instruction and its tools."""

    name: str
    instructions: str = ""
    tool_declarations: list[Tool] = Field(default_factory=list)


class AppDetails(EvalBaseModel):
    """The agents of a turn by name."""

    agent_details: dict[str, AgentDetails] = Field(default_factory=dict)

    def get_developer_instructions(self, agent_name: str) -> str:
        """The instruction of one agent; ValueError for an unknown one."""
        return self._agent(agent_name).instructions

    def get_tools_by_agent_name(self) -> dict[str, list[Any]]:
        """Each agent's tools."""
        return {name: list(agent.tool_declarations) for name, agent in self.agent_details.items()}

    def _agent(self, name: str) -> AgentDetails:
        if name not in self.agent_details:
            raise ValueError(f"there is no agent {name!r} here (there are: {', '.join(self.agent_details) or 'none'})")
        return self.agent_details[name]
