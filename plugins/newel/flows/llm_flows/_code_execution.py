"""The composed processors `code_execution`, by their released names."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor, ComposedResponseProcessor

__all__ = ["request_processor", "response_processor"]

request_processor = ComposedRequestProcessor("code_execution")
response_processor = ComposedResponseProcessor("code_execution")
