"""What graph nodes raise."""

from __future__ import annotations

from newel.events.request_input import RequestInput
from newel_kernel import NewelError, NodeTimeoutError, StateSchemaError

__all__ = ["DynamicNodeFailError", "NodeInterruptedError", "NodeTimeoutError", "StateSchemaError"]


class NodeInterruptedError(BaseException):
    """A node waits for an answer. It passes through the code that ran it, which runs again once the answer came.

    Not an Exception, so that ``except Exception`` does not take a question for a failure. `request` is the question,
    where it has not been asked yet.
    """

    def __init__(self, request: RequestInput | None = None) -> None:
        super().__init__("a node waits for an answer")
        self.request = request


class DynamicNodeFailError(NewelError):
    """A node that was run failed for good: `error` is why, `error_node_path` where.

    Its error event is in the session already; whoever does not catch this one fails with it, without another.
    """

    def __init__(self, error: Exception, error_node_path: str) -> None:
        super().__init__(f"node {error_node_path} failed: {type(error).__name__}: {error}")
        self.error = error
        self.error_node_path = error_node_path
