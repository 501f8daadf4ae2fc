"""Delegation: an agent gives a task to a sub-agent, which works on it apart and brings a result back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.agents.llm.task._delegation_tools import RequestTaskTool as RequestTaskTool
    from mortise.agents.llm.task._delegation_tools import SingleTurnTool as SingleTurnTool
    from mortise.agents.llm.task._finish_task_tool import FINISH_TASK_SUCCESS_RESULT as FINISH_TASK_SUCCESS_RESULT
    from mortise.agents.llm.task._finish_task_tool import FINISH_TASK_TOOL_NAME as FINISH_TASK_TOOL_NAME
    from mortise.agents.llm.task._finish_task_tool import FinishTaskTool as FinishTaskTool
    from mortise.agents.llm.task._modes import delegating as delegating
    from mortise.agents.llm.task._modes import tools_of as tools_of
    from mortise.agents.llm.task._task_models import TaskRequest as TaskRequest
    from mortise.agents.llm.task._task_models import TaskResult as TaskResult
    from mortise.agents.llm.task._task_models import _DefaultTaskInput as _DefaultTaskInput
    from mortise.agents.llm.task._task_models import _DefaultTaskOutput as _DefaultTaskOutput

_HERE = "mortise.agents.llm.task."
_WHERE = {
    **dict.fromkeys(["RequestTaskTool", "SingleTurnTool"], _HERE + "_delegation_tools"),
    **dict.fromkeys(
        ["FINISH_TASK_SUCCESS_RESULT", "FINISH_TASK_TOOL_NAME", "FinishTaskTool"], _HERE + "_finish_task_tool"
    ),
    **dict.fromkeys(["delegating", "tools_of"], _HERE + "_modes"),
    **dict.fromkeys(["TaskRequest", "TaskResult", "_DefaultTaskInput", "_DefaultTaskOutput"], _HERE + "_task_models"),
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
