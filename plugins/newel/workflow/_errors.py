"""The errors that graph nodes raise."""

from __future__ import annotations

from newel.events.request_input import RequestInput
from newel_kernel import NewelError


class NodeInterruptedError(BaseException):
    """A node waits for an answer. The code that ran the node lets this pass, and runs again with the answer.

    Not an Exception: ``except Exception`` must not take a question for a failure. `request` is a question that is still
    to be asked, or None.
    """

    def __init__(self, request: RequestInput | None = None) -> None:
        super().__init__("a node waits for an answer")
        self.request = request


class NodeTimeoutError(NewelError):
    """A node took longer than its timeout."""


class StateSchemaError(NewelError, ValueError):
    """A state value does not fit the declared schema."""


class DynamicNodeFailError(NewelError):
    """A node that was run from code failed, after its retries: `error` is why, `error_node_path` where.

    Its error event is in the session already. A node that does not catch this fails with it, without another event.
    """

    def __init__(self, error: Exception, error_node_path: str) -> None:
        super().__init__(f"node {error_node_path} failed: {type(error).__name__}: {error}")
        self.error = error
        self.error_node_path = error_node_path
