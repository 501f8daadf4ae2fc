"""Delegation: an agent gives a task to a sub-agent, which works on it in isolation and returns a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.agents.llm.task._delegation_tools import RequestTaskTool as RequestTaskTool
    from newel.agents.llm.task._delegation_tools import SingleTurnTool as SingleTurnTool
    from newel.agents.llm.task._finish_task_tool import FINISH_TASK_SUCCESS_RESULT as FINISH_TASK_SUCCESS_RESULT
    from newel.agents.llm.task._finish_task_tool import FINISH_TASK_TOOL_NAME as FINISH_TASK_TOOL_NAME
    from newel.agents.llm.task._finish_task_tool import FinishTaskTool as FinishTaskTool
    from newel.agents.llm.task._modes import delegating as delegating
    from newel.agents.llm.task._modes import tools_of as tools_of
    from newel.agents.llm.task._task_models import TaskRequest as TaskRequest
    from newel.agents.llm.task._task_models import TaskResult as TaskResult
    from newel.agents.llm.task._task_models import _DefaultTaskInput as _DefaultTaskInput
    from newel.agents.llm.task._task_models import _DefaultTaskOutput as _DefaultTaskOutput

_HERE = "newel.agents.llm.task."
_WHERE = {
    **dict.fromkeys(["RequestTaskTool", "SingleTurnTool"], _HERE + "_delegation_tools"),
    **dict.fromkeys(
        ["FINISH_TASK_SUCCESS_RESULT", "FINISH_TASK_TOOL_NAME", "FinishTaskTool"], _HERE + "_finish_task_tool"
    ),
    **dict.fromkeys(["delegating", "tools_of"], _HERE + "_modes"),
    **dict.fromkeys(["TaskRequest", "TaskResult", "_DefaultTaskInput", "_DefaultTaskOutput"], _HERE + "_task_models"),
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
