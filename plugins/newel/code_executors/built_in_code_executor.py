"""The executor for models that run their code themselves."""

from __future__ import annotations

from newel.code_executors.base_code_executor import BaseCodeExecutor, CodeExecutionInput, CodeExecutionResult
from newel.models.capabilities import capabilities_of
from newel_kernel import ConfigurationError, FeatureUnavailableError, InvocationContext, LlmRequest
from newel_types import Tool, ToolCodeExecution


class BuiltInCodeExecutor(BaseCodeExecutor):
    """Declares the model's own code execution tool; nothing is run here."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Nothing to run: the model does it."""
        raise FeatureUnavailableError("BuiltInCodeExecutor runs no code: the model does; use SandboxCodeExecutor here")

    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Declare the tool; refuse a model that, judging by its name, runs no code itself."""
        if not capabilities_of("gemini", llm_request.model or "").code_execution:
            raise self.refusal(llm_request.model)
        self.declare(llm_request)

    def declare(self, llm_request: LlmRequest) -> None:
        """Declare the model's own tool."""
        config = llm_request.config
        config.tools = [*(config.tools or ()), Tool(code_execution=ToolCodeExecution())]

    def refusal(self, model: str | None) -> ConfigurationError:
        """The error of a model that runs no code itself."""
        return ConfigurationError(
            f"the model {model!r} runs no code itself, so BuiltInCodeExecutor cannot work with it; use a Gemini model "
            "from 2 on, or code_executor=SandboxCodeExecutor()"
        )
