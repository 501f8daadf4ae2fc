"""The contract of a code executor: it runs code that a model wrote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from newel_kernel import InvocationContext


@dataclass(slots=True)
class CodeExecutionFile:
    """A file that goes into or comes out of an execution; `content` is base64 text or bytes."""

    name: str
    content: str | bytes
    mime_type: str = "text/plain"


@dataclass(slots=True)
class CodeExecutionInput:
    """What to run, with the files it may read; `execution_id` names a stateful environment."""

    code: str
    input_files: list[CodeExecutionFile] = field(default_factory=list)
    execution_id: str | None = None


@dataclass(slots=True)
class CodeExecutionResult:
    """The result of an execution."""

    stdout: str = ""
    stderr: str = ""
    output_files: list[CodeExecutionFile] = field(default_factory=list)


class BaseCodeExecutor(BaseModel, ABC):
    """Runs the code blocks of a model's answer."""

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    optimize_data_file: bool = False
    stateful: bool = False
    error_retry_attempts: int = 2
    #: Seconds one execution may take; None: as long as the runtime allows.
    timeout_seconds: float | None = None
    code_block_delimiters: list[tuple[str, str]] = [("```tool_code\n", "\n```"), ("```python\n", "\n```")]
    execution_result_delimiters: tuple[str, str] = ("```tool_output\n", "\n```")

    @abstractmethod
    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code and return its result."""
