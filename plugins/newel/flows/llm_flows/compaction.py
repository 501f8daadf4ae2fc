"""The composed processor `compaction`, by its released names."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor

__all__ = ["CompactionRequestProcessor", "request_processor"]


class CompactionRequestProcessor(ComposedRequestProcessor):
    """The request processor `compaction` of the invocation's distribution."""

    name = "compaction"


request_processor = CompactionRequestProcessor()
