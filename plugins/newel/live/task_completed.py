"""task_completed: how an agent of a sequence says, in a live run, that it is done and the next one goes on."""

from __future__ import annotations

from newel_kernel import BaseTool, Context, Json, Key, LlmRequest
from newel_types import FunctionDeclaration

NAME = "task_completed"
#: The names of the agents that run as steps of a sequence in this invocation.
IN_SEQUENCE: Key[set[str]] = Key("agents in a sequence", set)
_INSTRUCTION = (
    f"You are one step of a sequence of agents. When your task is done, call the function `{NAME}`, so that the next "
    f"agent goes on. Call it only then, and say nothing after it."
)


class TaskCompleted(BaseTool):
    """Ends the agent's step."""

    def __init__(self) -> None:
        super().__init__(name=NAME, description="Say that your task is done; the next agent goes on.")

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: Json, tool_context: Context) -> Json:
        """The result, which ends the step."""
        return {"result": "Task completion signaled."}


def add_to(request: LlmRequest) -> None:
    """Give the model of one step the function, and the sentence that says when to call it."""
    request.append_tools([TaskCompleted()])
    request.append_instructions([_INSTRUCTION])
