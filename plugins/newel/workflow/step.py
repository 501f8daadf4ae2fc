"""Step: a node of a graph, with the facts that a run needs."""

from __future__ import annotations

from collections.abc import Callable

from newel.workflow._base_node import BaseNode
from newel.workflow._function_node import FunctionNode
from newel.workflow.context import Run
from newel.workflow.edges import DEFAULT_ROUTE
from newel_kernel import Event


class Step:
    """A node of a graph, with the facts that a run needs, looked up once."""

    __slots__ = (
        "always",
        "awaitable",
        "before",
        "call",
        "chooses",
        "default",
        "event_of",
        "in_place",
        "name",
        "node",
        "routed",
        "starts_nodes",
        "terminal",
    )

    #: For a node that is a function: how to call it, and how to make the event of its result.
    call: Callable[[Run], object]
    event_of: Callable[[Run, object], Event | None]

    def __init__(self, node: BaseNode) -> None:
        self.name = node.name
        self.node = node
        self.starts_nodes = node.__newel_starts_nodes__
        #: Whether calling, or awaiting, it is all there is to a run.
        self.in_place = self.awaitable = False
        if isinstance(node, FunctionNode):
            self.call, self.event_of = node.binding.call, node.event_of
            self.in_place, self.awaitable = node.in_place, node.awaitable
        self.terminal = False
        #: The names of the nodes with an edge to this one, in the order of the edges.
        self.before: list[str] = []
        #: The steps that always follow; those that follow by default; and all but the latter with their route.
        self.always: list[Step] = []
        self.default: list[Step] = []
        self.routed: list[tuple[object, Step]] = []
        #: Whether the node's route decides what follows.
        self.chooses = False

    def lead_to(self, target: Step, route: object) -> None:
        """Add an edge."""
        target.before.append(self.name)
        if route is not None:
            self.chooses = True
        if isinstance(route, str) and route == DEFAULT_ROUTE:
            self.default.append(target)
            return
        self.routed.append((route, target))
        if route is None:
            self.always.append(target)

    def following(self, routes: object) -> list[Step]:
        """The steps that follow for a route, a list of routes, or None."""
        if not self.chooses:
            return self.always
        routes = routes if isinstance(routes, list) else [routes]
        steps = [target for route, target in self.routed if route is None or _meets(route, routes)]
        return steps if len(steps) > len(self.always) else steps + self.default


def _meets(route: object, routes: list[object]) -> bool:
    return any(one in routes for one in route) if isinstance(route, list) else route in routes
