"""Another name of `mortise.workflow.graph`."""

from mortise.workflow.graph import DEFAULT_ROUTE, Edge, Graph

__all__ = ["DEFAULT_ROUTE", "Edge", "Graph"]
