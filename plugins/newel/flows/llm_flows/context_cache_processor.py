"""The composed processor `context_cache`, by its released names."""

from newel.flows.llm_flows._composed import ComposedRequestProcessor

__all__ = ["ContextCacheRequestProcessor", "request_processor"]


class ContextCacheRequestProcessor(ComposedRequestProcessor):
    """The request processor `context_cache` of the invocation's distribution."""

    name = "context_cache"


request_processor = ContextCacheRequestProcessor()
