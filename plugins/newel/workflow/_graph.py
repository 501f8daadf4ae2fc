"""Another name of `newel.workflow.graph`."""

from newel.workflow.graph import DEFAULT_ROUTE, Edge, Graph

__all__ = ["DEFAULT_ROUTE", "Edge", "Graph"]
