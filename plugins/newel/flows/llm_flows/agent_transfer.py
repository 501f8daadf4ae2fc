"""The composed processor `agent_transfer`, by its released name."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor

__all__ = ["line_break", "request_processor"]

line_break = "\n"
request_processor = ComposedRequestProcessor("agent_transfer")
