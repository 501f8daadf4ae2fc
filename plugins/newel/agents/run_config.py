"""How an invocation runs."""

from newel.contexts.run_config import RunConfig, ToolThreadPoolConfig
from newel_kernel import StreamingMode

__all__ = ["RunConfig", "StreamingMode", "ToolThreadPoolConfig"]
