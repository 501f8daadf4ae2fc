"""One agent's execution of code: off the event loop, within bounds, its result as an event."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from newel.code_executors.base_code_executor import (
    BaseCodeExecutor,
    CodeExecutionFile,
    CodeExecutionInput,
    CodeExecutionResult,
)
from newel.code_executors.bounded_output import bounded
from newel.code_executors.code_execution_utils import CodeExecutionUtils, file_bytes
from newel.code_executors.code_executor_context import CodeExecutorContext
from newel.contexts.context import Context
from newel.contexts.invocation_context import full_invocation
from newel_kernel import Event, FeatureUnavailableError, InvocationContext, Json, Key, Session
from newel_types import Content, Part

#: The result of a call, or the error that it raised.
Outcome: TypeAlias = tuple[object, BaseException | None]
#: Seconds that an executor gets to keep its own timeout.
_GRACE = 5.0
#: The input files and the results of an invocation.
_SCRATCH = Key[Json]("code execution", dict)
#: How the ids of environments begin that newel chose.
_OWN = "newel-"


def environment_of(session: Session) -> str:
    """The id of a session's stateful environment: a session's own id is unique for one user of one app alone."""
    ids = json.dumps([session.app_name, session.user_id, session.id])
    return _OWN + hashlib.sha256(ids.encode()).hexdigest()[:48]


class Execution:
    """Runs code for the agent of `ctx`. An executor that fails or hangs gives an error result, not an exception."""

    def __init__(
        self, ctx: InvocationContext, executor: BaseCodeExecutor, *, seconds: float | None, max_output: int
    ) -> None:
        own = executor.timeout_seconds
        self._ctx = full_invocation(ctx)
        self._executor = executor
        self._seconds = seconds if own is None else own + _GRACE
        self._max_output = max_output
        self._callback = Context(self._ctx)
        #: What is remembered in the state; written with the event of the next result.
        self.context = CodeExecutorContext(self._callback.state, scratch=ctx.stash[_SCRATCH])

    @property
    def exhausted(self) -> bool:
        """Whether so many executions of this invocation failed in a row that no more code is run."""
        return self.context.get_error_count(self._ctx.invocation_id) >= self._executor.error_retry_attempts

    def event(self, content: Content) -> Event:
        """An event of the agent with `content`."""
        ctx = self._ctx
        return Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, content=content)

    async def run(self, code: str, files: list[CodeExecutionFile], explored: CodeExecutionFile | None = None) -> Event:
        """Run `code` and return the event of its result; `explored` is the data file that it explores."""
        request = CodeExecutionInput(code=code, input_files=files, execution_id=self._execution_id())
        result = await self._attempt(request)
        invocation = self._ctx.invocation_id
        self.context.update_code_execution_result(invocation, code, result.stdout, result.stderr)
        if explored is not None:
            self.context.add_processed_file_names([explored.name])
        if result.stderr:
            self.context.increment_error_count(invocation)
        else:
            self.context.reset_error_count(invocation)
        self._callback.state.update(self.context.get_state_delta())
        event = self.event(Content(role="model", parts=[await self._saved(result)]))
        event.actions = self._callback.actions
        self._callback = Context(self._ctx)
        self.context = CodeExecutorContext(self._callback.state, scratch=self._ctx.stash[_SCRATCH])
        return event

    def _execution_id(self) -> str | None:
        if not self._executor.stateful:
            return None
        given, own = self.context.get_execution_id(), environment_of(self._ctx.session)
        if given and not given.startswith(_OWN) and given != self._ctx.session.id:  # the former one
            return given  # set by a callback of the app
        if given != own:  # none yet, or that of the session of which this one is a fork
            self.context.set_execution_id(own)
        return own

    async def _attempt(self, request: CodeExecutionInput) -> CodeExecutionResult:
        kind = type(self._executor).__name__
        try:
            result, error = await off_loop(lambda: self._executor.execute_code(self._ctx, request), self._seconds)
        except TimeoutError:
            problem = f"The code was stopped: {kind} took longer than {self._seconds:g} seconds."
            return CodeExecutionResult(stderr=problem)
        if isinstance(error, FeatureUnavailableError):
            raise error  # for the developer: no other code would help the model
        if error is not None:
            return CodeExecutionResult(stderr=bounded(f"{type(error).__name__}: {error}", self._max_output))
        if not isinstance(result, CodeExecutionResult):
            return CodeExecutionResult(
                stderr=f"{kind}.execute_code returned {type(result).__name__}, not a CodeExecutionResult."
            )
        return CodeExecutionResult(
            stdout=bounded(result.stdout, self._max_output),
            stderr=bounded(result.stderr, self._max_output),
            output_files=result.output_files,
        )

    async def _saved(self, result: CodeExecutionResult) -> Part:
        """The part of `result`, its files saved as artifacts if there is a service for them."""
        if result.output_files and self._ctx.artifact_service is None:
            names = ", ".join(f"`{file.name}`" for file in result.output_files)
            text = f"{result.stdout}\nNot saved, for there is no artifact service: {names}"
            result = CodeExecutionResult(stdout=text, stderr=result.stderr)
        for file in result.output_files:
            data = Part.from_bytes(data=file_bytes(file), mime_type=file.mime_type)
            await self._callback.save_artifact(file.name, data)
        return CodeExecutionUtils.build_code_execution_result_part(result)


async def off_loop(call: Callable[[], object], seconds: float | None) -> Outcome:
    """The result or the error of `call`, run in its own thread; TimeoutError after `seconds`.

    A thread that hangs cannot be ended. It is a daemon and not of the loop's pool, so it holds up neither
    other work nor the end of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def work() -> None:
        outcome: Outcome
        try:
            outcome = context.run(call), None
        except BaseException as error:  # noqa: BLE001 - the boundary to an executor, which may raise SystemExit
            outcome = None, error
        with suppress(RuntimeError):  # the loop has closed: nothing waits any more
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name="newel-code", daemon=True).start()
    async with asyncio.timeout(seconds):
        return await future
