"""Code executors: they run the code that a model writes. Prefer `SandboxCodeExecutor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.code_executors.base_code_executor import BaseCodeExecutor as BaseCodeExecutor
    from newel.code_executors.base_code_executor import CodeExecutionFile as CodeExecutionFile
    from newel.code_executors.base_code_executor import CodeExecutionInput as CodeExecutionInput
    from newel.code_executors.base_code_executor import CodeExecutionResult as CodeExecutionResult
    from newel.code_executors.built_in_code_executor import BuiltInCodeExecutor as BuiltInCodeExecutor
    from newel.code_executors.code_executor_context import CodeExecutorContext as CodeExecutorContext
    from newel.code_executors.container_code_executor import ContainerCodeExecutor as ContainerCodeExecutor
    from newel.code_executors.sandbox_code_executor import SandboxCodeExecutor as SandboxCodeExecutor
    from newel.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor as UnsafeLocalCodeExecutor

_WHERE = {
    "BaseCodeExecutor": "newel.code_executors.base_code_executor",
    "BuiltInCodeExecutor": "newel.code_executors.built_in_code_executor",
    "CodeExecutionFile": "newel.code_executors.base_code_executor",
    "CodeExecutionInput": "newel.code_executors.base_code_executor",
    "CodeExecutionResult": "newel.code_executors.base_code_executor",
    "CodeExecutorContext": "newel.code_executors.code_executor_context",
    "ContainerCodeExecutor": "newel.code_executors.container_code_executor",
    "SandboxCodeExecutor": "newel.code_executors.sandbox_code_executor",
    "UnsafeLocalCodeExecutor": "newel.code_executors.unsafe_local_code_executor",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
