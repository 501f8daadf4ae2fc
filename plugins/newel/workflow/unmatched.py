"""Unmatched routes: a node chose a route that none of its edges has, so that the graph ends there."""

from __future__ import annotations

from newel.turns.steps import PLUGIN, Settings
from newel.workflow.journal import UNMATCHED_ROUTE
from newel.workflow.node_run import NodeRun
from newel.workflow.step import Step
from newel_kernel import Event


def unmatched(step: Step, route: object, graph: NodeRun) -> Event | None:
    """The event that tells it; None if the node chose no route, or said no to the only edge, which has the route True.

    Such a node ends its path of the graph on purpose.
    """
    routes = route if isinstance(route, list) else [route]
    routes = [one for one in routes if one is not None]
    if not routes or (routes == [False] and all(one is True for one, _ in step.routed)):
        return None
    tree = graph.tree
    if not tree.invocation.composition.settings_of(PLUGIN, Settings).unmatched_routes:
        return None
    event = graph.place.event(tree.invocation_id)
    event.error_code = UNMATCHED_ROUTE
    known = ", ".join(dict.fromkeys(repr(one) for one, _ in step.routed))
    event.error_message = (
        f"node {step.name!r} of the graph {graph.node.name!r} chose the route {', '.join(map(repr, routes))}, which no "
        f"edge from it has, so nothing follows; its edges have: {known}. Add an edge for it, or one with DEFAULT_ROUTE"
    )
    return event
