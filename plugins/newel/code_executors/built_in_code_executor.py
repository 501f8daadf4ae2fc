"""The executor for models that run their code themselves."""

from __future__ import annotations

import re

from newel.code_executors.base_code_executor import BaseCodeExecutor, CodeExecutionInput, CodeExecutionResult
from newel_kernel import ConfigurationError, FeatureUnavailableError, InvocationContext, LlmRequest
from newel_types import Tool, ToolCodeExecution

_CAPABLE = re.compile(r"(?:.*/)?gemini-(?:(?P<major>\d+)(?:\.\d+)*(?:-.*)?|[\w-]+-early-exp\d*)")


class BuiltInCodeExecutor(BaseCodeExecutor):
    """Declares the model's own code execution tool; nothing is run here."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Nothing to run: the model does it."""
        raise FeatureUnavailableError("BuiltInCodeExecutor runs no code: the model does; use SandboxCodeExecutor here")

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Declare the tool; a model whose name says that it has none is refused."""
        match = _CAPABLE.fullmatch(llm_request.model or "")
        if match is None or (match["major"] is not None and int(match["major"]) < 2):
            raise ConfigurationError(
                f"the model {llm_request.model!r} runs no code itself, so BuiltInCodeExecutor cannot work with it; "
                "use a Gemini model from 2 on, or code_executor=SandboxCodeExecutor()"
            )
        self.declare(llm_request)

    def declare(self, llm_request: LlmRequest) -> None:
        """Declare the model's own tool."""
        config = llm_request.config
        config.tools = [*(config.tools or ()), Tool(code_execution=ToolCodeExecution())]
