"""Graphs: what an app is made of, as data and as Graphviz's source."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from newel.agents import LlmAgent
from newel.drawing.description import picture_of
from newel.drawing.dot import dot
from newel.models import BaseLlm
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import opened
from newel.server.refusals import Refusal
from newel_kernel import BaseAgent, NewelError, subtree


class Node(BaseModel):
    """An agent with those below it."""

    name: str
    type: str
    description: str
    sub_agents: list[Node]
    #: The names of its tools; left out if it has none.
    tools: list[str] = Field(default_factory=list)


class Graph(BaseModel):
    """The tree of an app's agents."""

    name: str
    root_agent: Node


class Drawing(BaseModel):
    """A drawing in the language of Graphviz."""

    dotSrc: str


class Image(BaseModel):
    """The agent that is drawn, by default the root."""

    node: str | None = None
    dark_mode: bool = False


@endpoint(answer=Graph)
async def build_graph(call: Call) -> object:
    """The tree of agents."""
    name = call.path["app_name"]
    return {"name": name, "root_agent": _node((await call.server.apps.source(name)).agent)}


class BoxAnswer(BaseModel):
    """A box of a picture; with `is_group` a frame around others, which name it as their `frame`."""

    id: str
    kind: str
    name: str
    detail: str
    about: str
    frame: str | None
    is_group: bool


class LinkAnswer(BaseModel):
    """From one box or group to another, by id."""

    source: str
    target: str
    relation: str
    label: str


class PictureAnswer(BaseModel):
    """What an app is made of: its agents, tools and nodes, and how they are linked."""

    name: str
    boxes: list[BoxAnswer]
    links: list[LinkAnswer]
    #: Whether one can speak with it: the root's model takes live connections.
    live: bool


@endpoint(answer=PictureAnswer)
async def show_picture(call: Call) -> object:
    """The agents, tools and nodes of an app, whatever its root is, and what leads where."""
    root = (await call.server.apps.source(call.path["app_name"])).agent
    picture = picture_of(root)
    return {
        "live": is_live(root),
        "name": picture.name,
        "boxes": [asdict(box) for box in picture.boxes.values()],
        "links": [asdict(link) for link in picture.links],
    }


@endpoint(query=Image, answer=dict[str, Drawing] | Drawing)
async def build_graph_image(call: Call) -> object:
    """The source of the drawing of an agent; without `node`, of the root, under its name."""
    root = (await call.server.apps.source(call.path["app_name"])).agent
    name = call.query.node
    if name is None:
        return {root.name: _drawn(root)}
    agent = next((one for one in subtree(root) if one.name == name.rpartition("/")[2]), None)
    if agent is None:
        raise Refusal(404, f"the app has no agent {name!r}")
    return _drawn(agent)


@endpoint(answer=Drawing)
async def event_graph(call: Call) -> object:
    """The source of the drawing of the agents, for an event of a session."""
    session = await opened(call)
    if not any(event.id == call.path["event_id"] for event in session.events):
        raise Refusal(404, "Event not found")
    return _drawn((await call.server.apps.source(call.path["app_name"])).agent)


def is_live(agent: BaseAgent) -> bool:
    """Whether the agent's model says that it takes live connections; one that goes over no network may just do it."""
    try:
        model = agent.canonical_model if isinstance(agent, LlmAgent) else None
    except NewelError:  # a model that cannot be used here takes no connections either
        return False
    if not isinstance(model, BaseLlm):
        return False
    return model.capabilities.live is not None or (not model.networked and type(model).connect is not BaseLlm.connect)


def _drawn(agent: BaseAgent) -> dict[str, str]:
    return {"dotSrc": dot(picture_of(agent))}


def _node(agent: BaseAgent) -> dict[str, Any]:
    node: dict[str, Any] = {
        "name": agent.name,
        "type": type(agent).__name__,
        "description": agent.description,
        "sub_agents": [_node(child) for child in agent.sub_agents],
    }
    tools = getattr(agent, "tools", ())
    if isinstance(tools, (list, tuple)) and tools:
        node["tools"] = [
            getattr(tool, "name", None) or getattr(tool, "__name__", type(tool).__name__) for tool in tools
        ]
    return node
