"""CodeExecutorContext: what code execution remembers in a session's state."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import asdict
from typing import Any

from newel.code_executors.base_code_executor import CodeExecutionFile
from newel_kernel import Json, seam

_CONTEXT = "_code_execution_context"
_EXECUTION_ID = "execution_session_id"
_PROCESSED = "processed_input_files"
_INPUT_FILES = "_code_executor_input_files"
_ERROR_COUNTS = "_code_executor_error_counts"
_RESULTS = "_code_execution_results"


class CodeExecutorContext:
    """Execution id, explored files and consecutive errors of a session; its input files and results so far.

    A value is replaced, never edited, so each write to `session_state` is recorded. `scratch` takes the input
    files and the results, which the session's events hold anyway; without it they go to `session_state` too.
    """

    def __init__(
        self, session_state: MutableMapping[str, Any], scratch: MutableMapping[str, Any] | None = None
    ) -> None:
        self._state = session_state
        self._scratch = session_state if scratch is None else scratch

    def get_state_delta(self) -> Json:
        """The state that a later invocation needs, under its key."""
        return {_CONTEXT: dict(self._state.get(_CONTEXT) or {})}

    def get_execution_id(self) -> str | None:
        """The id of the stateful environment, if there is one."""
        execution_id: str | None = (self._state.get(_CONTEXT) or {}).get(_EXECUTION_ID)
        return execution_id

    def set_execution_id(self, session_id: str) -> None:
        """Remember the id of the stateful environment."""
        self._update(_EXECUTION_ID, session_id)

    def get_processed_file_names(self) -> list[str]:
        """The data files that were explored."""
        return list((self._state.get(_CONTEXT) or {}).get(_PROCESSED) or ())

    def add_processed_file_names(self, file_names: Iterable[str]) -> None:
        """Note that data files were explored."""
        self._update(_PROCESSED, [*self.get_processed_file_names(), *file_names])

    def get_input_files(self) -> list[CodeExecutionFile]:
        """The files that the code may read."""
        return [CodeExecutionFile(**file) for file in self._scratch.get(_INPUT_FILES) or ()]

    def add_input_files(self, input_files: Iterable[CodeExecutionFile]) -> None:
        """Let the code read more files."""
        present = self._scratch.get(_INPUT_FILES) or ()
        self._scratch[_INPUT_FILES] = [*present, *(asdict(file) for file in input_files)]

    def clear_input_files(self) -> None:
        """Forget the input files, and which were explored."""
        self._scratch[_INPUT_FILES] = []
        self._update(_PROCESSED, [])

    def get_error_count(self, invocation_id: str) -> int:
        """How many executions of the invocation failed in a row."""
        count: int = (self._state.get(_ERROR_COUNTS) or {}).get(invocation_id, 0)
        return count

    def increment_error_count(self, invocation_id: str) -> None:
        """Count a failed execution. The counts of other invocations, which are over, are dropped."""
        self._state[_ERROR_COUNTS] = {invocation_id: self.get_error_count(invocation_id) + 1}

    def reset_error_count(self, invocation_id: str) -> None:
        """Forget the failed executions."""
        if self.get_error_count(invocation_id):
            self._state[_ERROR_COUNTS] = None

    def update_code_execution_result(
        self, invocation_id: str, code: str, result_stdout: str, result_stderr: str
    ) -> None:
        """Note an execution of the invocation."""
        results = dict(self._scratch.get(_RESULTS) or {})
        entry = {
            "code": code,
            "result_stdout": result_stdout,
            "result_stderr": result_stderr,
            "timestamp": int(seam.clock()),
        }
        results[invocation_id] = [*results.get(invocation_id, ()), entry]
        self._scratch[_RESULTS] = results

    def _update(self, name: str, value: object) -> None:
        self._state[_CONTEXT] = {**(self._state.get(_CONTEXT) or {}), name: value}
