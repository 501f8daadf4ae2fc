"""What an app is made of: its agents and their tools."""

from __future__ import annotations

from pydantic import BaseModel

from newel.agents import LlmAgent
from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel_kernel import Json, subtree


class AgentInfo(BaseModel):
    """An agent, with the declarations of its tools."""

    name: str
    description: str
    instruction: str
    sub_agents: list[str]
    tools: list[Json]


class AppInfo(BaseModel):
    """An app, with its agents by name."""

    name: str
    rootAgentName: str
    description: str
    language: str
    isComputerUse: bool
    agents: dict[str, AgentInfo]


@endpoint(answer=AppInfo)
async def app_info(call: Call) -> object:
    """The agents of an app, with their instructions and the declarations of their tools."""
    name = call.path["app_name"]
    place = call.server.apps.place(name)
    root = (await call.server.apps.source(name)).agent
    if not isinstance(root, LlmAgent):
        raise Refusal(400, "the root agent is not an LlmAgent")
    return {
        "name": name,
        "rootAgentName": root.name,
        "description": root.description,
        "language": place.language,
        "isComputerUse": False,
        "agents": {agent.name: await _agent(agent) for agent in subtree(root) if isinstance(agent, LlmAgent)},
    }


async def _agent(agent: LlmAgent) -> Json:
    return {
        "name": agent.name,
        "description": agent.description,
        "instruction": agent.instruction if isinstance(agent.instruction, str) else "",
        "sub_agents": [child.name for child in agent.sub_agents],
        "tools": [
            {"functionDeclarations": [_titled(declaration.model_dump(mode="json", by_alias=True, exclude_none=True))]}
            for tool in await agent.canonical_tools()
            if (declaration := tool._get_declaration()) is not None
        ],
    }


def _titled(declaration: Json) -> Json:
    """The declaration with titles in its schema, which forms show; a model is not sent them."""
    schema = declaration.get("parametersJsonSchema")
    if not isinstance(schema, dict) or not schema.get("properties"):
        return declaration
    properties = {
        name: {"title": name.replace("_", " ").title(), **field} if isinstance(field, dict) else field
        for name, field in schema["properties"].items()
    }
    titled = {"title": f"{declaration['name']}Params", **schema, "properties": properties}
    return {**declaration, "parametersJsonSchema": titled}
