"""Another name of `newel.workflow.retry_config`."""

from newel.workflow.retry_config import RetryConfig

__all__ = ["RetryConfig"]
