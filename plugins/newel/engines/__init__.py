"""Engines: where and when an invocation runs, in this process or on many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.engines.answers import AnsweredBeforeError as AnsweredBeforeError
    from newel.engines.endings import RunFailedError as RunFailedError
    from newel.engines.endings import RunMisfitError as RunMisfitError
    from newel.engines.endings import RunOvertimeError as RunOvertimeError
    from newel.engines.engine import OVER as OVER
    from newel.engines.engine import TIME_IS_OVER as TIME_IS_OVER
    from newel.engines.engine import BaseEngine as BaseEngine
    from newel.engines.engine import EngineUnavailableError as EngineUnavailableError
    from newel.engines.engine import EngineWorker as EngineWorker
    from newel.engines.engine import Outcome as Outcome
    from newel.engines.engine import PostponedError as PostponedError
    from newel.engines.engine import RunNotFoundError as RunNotFoundError
    from newel.engines.engine import RunRecord as RunRecord
    from newel.engines.engine import RunState as RunState
    from newel.engines.engine import SpecRefusedError as SpecRefusedError
    from newel.engines.engine import Work as Work
    from newel.engines.inline import InlineEngine as InlineEngine
    from newel.engines.kinds import EngineBackend as EngineBackend
    from newel.engines.spec import InvocationSpec as InvocationSpec
    from newel.engines.spec import check_same as check_same
    from newel.engines.spec import check_spec as check_spec
    from newel.engines.spec import queue_name as queue_name
    from newel.engines.spec import spec_json as spec_json
    from newel.engines.stepping import Stepping as Stepping
    from newel.engines.submissions import SubmitOptions as SubmitOptions
    from newel.engines.submissions import SubmittedRun as SubmittedRun
    from newel.engines.work import AgentWork as AgentWork

_WHERE = {
    "AgentWork": "newel.engines.work",
    "AnsweredBeforeError": "newel.engines.answers",
    "BaseEngine": "newel.engines.engine",
    "EngineBackend": "newel.engines.kinds",
    "EngineUnavailableError": "newel.engines.engine",
    "EngineWorker": "newel.engines.engine",
    "InlineEngine": "newel.engines.inline",
    "InvocationSpec": "newel.engines.spec",
    "OVER": "newel.engines.engine",
    "Outcome": "newel.engines.engine",
    "PostponedError": "newel.engines.engine",
    "RunFailedError": "newel.engines.endings",
    "RunMisfitError": "newel.engines.endings",
    "RunOvertimeError": "newel.engines.endings",
    "RunNotFoundError": "newel.engines.engine",
    "RunRecord": "newel.engines.engine",
    "RunState": "newel.engines.engine",
    "SpecRefusedError": "newel.engines.engine",
    "Stepping": "newel.engines.stepping",
    "SubmitOptions": "newel.engines.submissions",
    "SubmittedRun": "newel.engines.submissions",
    "TIME_IS_OVER": "newel.engines.engine",
    "Work": "newel.engines.engine",
    "check_same": "newel.engines.spec",
    "check_spec": "newel.engines.spec",
    "queue_name": "newel.engines.spec",
    "spec_json": "newel.engines.spec",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
