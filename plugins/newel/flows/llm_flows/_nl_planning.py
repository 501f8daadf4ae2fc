"""The composed processors `planning`, by their released names."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor, ComposedResponseProcessor

__all__ = ["request_processor", "response_processor"]

request_processor = ComposedRequestProcessor("planning")
response_processor = ComposedResponseProcessor("planning")
