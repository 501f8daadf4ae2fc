"""The composed processor `instructions`, by its released name."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor

__all__ = ["request_processor"]

request_processor = ComposedRequestProcessor("instructions")
