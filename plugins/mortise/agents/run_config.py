"""How an invocation runs."""

from mortise_kernel.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig

__all__ = ["RunConfig", "StreamingMode", "ToolThreadPoolConfig"]
