"""Code executors: what runs the code that a model writes. `SandboxCodeExecutor` is the one to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.code_executors.built_in_code_executor import BuiltInCodeExecutor as BuiltInCodeExecutor
    from mortise.code_executors.code_executor_context import CodeExecutorContext as CodeExecutorContext
    from mortise.code_executors.container_code_executor import ContainerCodeExecutor as ContainerCodeExecutor
    from mortise.code_executors.sandbox_code_executor import SandboxCodeExecutor as SandboxCodeExecutor
    from mortise.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor as UnsafeLocalCodeExecutor
    from mortise_kernel.contracts.executor import BaseCodeExecutor as BaseCodeExecutor
    from mortise_kernel.contracts.executor import CodeExecutionFile as CodeExecutionFile
    from mortise_kernel.contracts.executor import CodeExecutionInput as CodeExecutionInput
    from mortise_kernel.contracts.executor import CodeExecutionResult as CodeExecutionResult

_WHERE = {
    "BaseCodeExecutor": "mortise_kernel.contracts.executor",
    "BuiltInCodeExecutor": "mortise.code_executors.built_in_code_executor",
    "CodeExecutionFile": "mortise_kernel.contracts.executor",
    "CodeExecutionInput": "mortise_kernel.contracts.executor",
    "CodeExecutionResult": "mortise_kernel.contracts.executor",
    "CodeExecutorContext": "mortise.code_executors.code_executor_context",
    "ContainerCodeExecutor": "mortise.code_executors.container_code_executor",
    "SandboxCodeExecutor": "mortise.code_executors.sandbox_code_executor",
    "UnsafeLocalCodeExecutor": "mortise.code_executors.unsafe_local_code_executor",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
