"""How an invocation runs."""

from newel_kernel.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig

__all__ = ["RunConfig", "StreamingMode", "ToolThreadPoolConfig"]
