"""The composed processor `interactions`, by its released names."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor

__all__ = ["InteractionsRequestProcessor", "request_processor"]


class InteractionsRequestProcessor(ComposedRequestProcessor):
    """The request processor `interactions` of the invocation's distribution."""

    name = "interactions"


request_processor = InteractionsRequestProcessor()
