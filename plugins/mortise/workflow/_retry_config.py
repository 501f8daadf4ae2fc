"""Another name of `mortise.workflow.retry_config`."""

from mortise.workflow.retry_config import RetryConfig

__all__ = ["RetryConfig"]
