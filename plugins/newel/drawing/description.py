"""Description: the picture of an agent, read off the agent itself. Nothing runs, and no toolset is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise

from newel.agents.loop_agent import LoopAgent
from newel.agents.parallel_agent import ParallelAgent
from newel.agents.sequential_agent import SequentialAgent
from newel.drawing.picture import Kind, Picture, Relation
from newel.workflow import (
    DEFAULT_ROUTE,
    START,
    BaseNode,
    FunctionNode,
    JoinNode,
    Node,
    ParallelWorker,
    ToolNode,
    Workflow,
)
from newel.workflow.agent_node import AgentNode
from newel_kernel import BaseAgent, BaseTool, BaseToolset

_COMPOSITE = (SequentialAgent, LoopAgent, ParallelAgent)


def picture_of(agent: BaseAgent) -> Picture:
    """The picture of `agent` and of everything in it.

    An agent that is met again (such as the tool of two others) is drawn once, at the place where it was met first.
    """
    picture = Picture(name=agent.name)
    reader = _Reader(picture)
    reader.agent(agent, None)
    reader.finish()
    return picture


class _Reader:
    """Adds boxes first and their contents later, from a queue: a tree may be deeper than Python's stack."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._boxes: dict[int, str] = {}
        self._waiting: deque[Callable[[], None]] = deque()

    def finish(self) -> None:
        while self._waiting:
            self._waiting.popleft()()

    def agent(self, agent: BaseAgent, frame: str | None, *notes: str) -> str:
        """The id of the agent's box or group."""
        box = self._boxes.get(id(agent))
        if box is not None:
            return box
        is_group, detail = _is_group(agent), _detail(agent, notes)
        box = self._boxes[id(agent)] = self._picture.add(
            Kind.AGENT, agent.name, detail=detail, about=agent.description, frame=frame, is_group=is_group
        )
        if not is_group:
            self._waiting.append(lambda: self._parts(agent, box, frame))
        elif isinstance(agent, Workflow):
            self._waiting.append(lambda: self._nodes(agent, box))
        else:
            self._waiting.append(lambda: self._steps(agent, box))
        return box

    def _parts(self, agent: BaseAgent, box: str, frame: str | None) -> None:
        """The tools and the sub-agents of an agent, next to it."""
        children = {id(child) for child in agent.sub_agents}
        tools = getattr(agent, "tools", None)
        for tool in tools if isinstance(tools, (list, tuple)) else ():
            inner = getattr(tool, "agent", None)
            if id(inner) in children:
                continue  # the tool that delegates to a sub-agent
            if isinstance(tool, BaseTool) and isinstance(inner, BaseAgent):
                self._picture.link(box, self.agent(inner, frame), Relation.TOOL, "as a tool")
            else:
                self._picture.link(box, self._tool(tool, frame), Relation.TOOL)
        for child in agent.sub_agents:
            mode = getattr(child, "mode", None)
            label = mode if mode in ("task", "single_turn") else ""
            self._picture.link(box, self.agent(child, frame), Relation.SUB_AGENT, label)

    def _steps(self, agent: BaseAgent, box: str) -> None:
        """The sub-agents of a composite agent, inside of it."""
        steps = [self.agent(child, box) for child in agent.sub_agents]
        if isinstance(agent, ParallelAgent):
            return
        for before, after in pairwise(steps):
            self._picture.link(before, after, Relation.NEXT)
        if isinstance(agent, LoopAgent):
            self._picture.link(steps[-1], steps[0], Relation.AGAIN, "again")

    def _nodes(self, workflow: Workflow, box: str) -> None:
        """The nodes and edges of a workflow, inside of it."""
        assert workflow.graph is not None
        boxes = {node.name: self._node(node, box) for node in workflow.graph.nodes}
        for edge in workflow.graph.edges:
            default = isinstance(edge.route, str) and edge.route == DEFAULT_ROUTE
            self._picture.link(
                boxes[edge.from_node.name],
                boxes[edge.to_node.name],
                Relation.DEFAULT if default else Relation.NEXT,
                "default" if default else _routes(edge.route),
            )

    def _node(self, node: BaseNode, frame: str, *notes: str) -> str:
        if isinstance(node, ParallelWorker):
            most = f", at most {node.max_concurrency} at once" if node.max_concurrency else ""
            own = (f"as {node.name}",) if node.name != node.node.name else ()
            return self._node(node.node, frame, *notes, *own, f"for each item{most}")
        if isinstance(node, BaseAgent):
            return self.agent(node, frame, *notes)
        if isinstance(node, AgentNode):
            return self.agent(node.agent, frame, *notes)
        if isinstance(node, ToolNode):
            return self._tool(node.tool, frame, *notes)
        if node is START:
            return self._picture.add(Kind.START, "START", frame=frame)
        kind, detail = Kind.NODE, type(node).__name__
        if isinstance(node, FunctionNode):
            kind, detail = Kind.FUNCTION, "function"
        elif isinstance(node, JoinNode):
            kind, detail = Kind.JOIN, "join"
        elif isinstance(node, Node) and node.parallel_worker:
            notes = (*notes, "for each item")
        return self._picture.add(
            kind, node.name, detail=", ".join((detail, *notes)), about=node.description, frame=frame
        )

    def _tool(self, tool: object, frame: str | None, *notes: str) -> str:
        if isinstance(tool, BaseToolset):
            name, kind, detail = type(tool).__name__, Kind.TOOLSET, "toolset"
            if tool.tool_name_prefix:
                detail = f"toolset, {tool.tool_name_prefix}_…"
        else:
            name = getattr(tool, "name", None) or getattr(tool, "__name__", None) or type(tool).__name__
            kind, detail = Kind.TOOL, "tool"
        about = getattr(tool, "description", None) or ""
        return self._picture.add(kind, name, detail=", ".join((detail, *notes)), about=about, frame=frame)


def _is_group(agent: BaseAgent) -> bool:
    """Whether other boxes are drawn inside the agent; if there are none, it is a box."""
    if isinstance(agent, Workflow):
        return agent.graph is not None and bool(agent.graph.nodes)
    return isinstance(agent, _COMPOSITE) and bool(agent.sub_agents)


def _detail(agent: BaseAgent, notes: tuple[str, ...]) -> str:
    model = getattr(agent, "model", None)
    name = model if isinstance(model, str) else getattr(model, "model", None)
    rounds = f"at most {agent.max_iterations} rounds" if isinstance(agent, LoopAgent) and agent.max_iterations else ""
    parts = (type(agent).__name__, name if isinstance(name, str) else "", rounds, *notes)
    return ", ".join(part for part in parts if part)


def _routes(route: object) -> str:
    if route is None:
        return ""
    return ", ".join(str(one) for one in (route if isinstance(route, list) else [route]))
