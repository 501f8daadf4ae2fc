"""The executor to prefer: Monty, an interpreter of a subset of Python that reaches nothing outside itself.

Code runs in a separate process, started for one execution, under limits of time, memory and recursion. It
sees no file, environment variable, network or process of the machine: it can open only the input files and
files in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from pydantic import Field, PrivateAttr

from newel.code_executors.base_code_executor import BaseCodeExecutor, CodeExecutionInput, CodeExecutionResult
from newel.code_executors.bounded_output import Output, bounded
from newel_kernel import FeatureUnavailableError, InvocationContext

if TYPE_CHECKING:
    from pydantic_monty import MontyError, MontySession, ResourceLimits

    from newel.code_executors.sandbox_files import SandboxFiles

#: The app, the user and the id of an execution's environment.
Owner: TypeAlias = tuple[str, str, str]
_MIB = 1024 * 1024
#: Most bytes of all kept stateful environments; the least recently used one is dropped first.
_MOST_BYTES = 256 * _MIB


class SandboxCodeExecutor(BaseCodeExecutor):
    """Runs code in the Monty sandbox (``pip install "newel[sandbox]"``).

    With `stateful`, variables live on from one successful execution of a session to the next, in this
    process's memory.
    """

    timeout_seconds: float = Field(default=10.0, gt=0)
    #: Bytes the code may hold, and bytes it may write to files, which become artifacts.
    max_memory: int = Field(default=128 * _MIB, gt=0)
    max_file_bytes: int = Field(default=16 * _MIB, gt=0)
    #: Nested calls.
    max_recursion: int = Field(default=500, gt=0, le=1000)

    _states: States = PrivateAttr(default_factory=lambda: States(_MOST_BYTES))

    def model_post_init(self, context: object, /) -> None:
        """Refuse now, not in the middle of a conversation, if the sandbox is not installed."""
        super().model_post_init(context)
        if find_spec("pydantic_monty") is None:
            raise FeatureUnavailableError(
                'SandboxCodeExecutor needs the Monty sandbox, which is not installed: pip install "newel[sandbox]"'
            )

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code; its error, or the limit that stopped it, becomes the result's `stderr`."""
        from pydantic_monty import Monty, MontyError  # noqa: PLC0415 - an optional SDK

        from newel.code_executors.sandbox_files import SandboxFiles  # noqa: PLC0415 - needs it as well

        key = self._key(invocation_context, code_execution_input)
        files = SandboxFiles.holding(code_execution_input.input_files, self.max_file_bytes)
        printed = Output()
        pool = Monty(min_processes=1, max_processes=1, request_timeout=self.timeout_seconds + 2.0)
        try:
            # Nothing happens in the sandbox during a sleep, so sleeping takes no time.
            with pool, pool.checkout(limits=self._limits(), os_policy={"sleep": "zero"}) as session:
                self._feed(session, key, code_execution_input.code, printed, files)
        except MontyError as error:
            return CodeExecutionResult(stdout=printed.text(), stderr=bounded(_text_of(error)))
        return CodeExecutionResult(stdout=printed.text(), output_files=files.written())

    def _feed(self, session: MontySession, key: Owner | None, code: str, printed: Output, files: SandboxFiles) -> None:
        state = self._states.get(key) if key is not None else None
        if state is not None:
            session.load_session(state)
        # The value of a last expression would be turned into objects of this process, of any size.
        session.feed_run(f"{code}\nNone", print_callback=lambda _stream, text: printed.add(text), os=files)
        if key is not None:
            self._states.put(key, session.dump())

    def _limits(self) -> ResourceLimits:
        return {
            "max_feed_duration_secs": self.timeout_seconds,
            "max_memory": self.max_memory,
            "max_recursion_depth": self.max_recursion,
            "max_suspensions": 1000,
        }

    def _key(self, ctx: InvocationContext, request: CodeExecutionInput) -> Owner | None:
        """The owner of the environment: sessions of two users may have the same id."""
        if not self.stateful or request.execution_id is None:
            return None
        return ctx.app_name, ctx.user_id, request.execution_id


class States:
    """The environments of stateful sessions, as bytes, within a bound."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._states: OrderedDict[Owner, bytes] = OrderedDict()

    def get(self, key: Owner) -> bytes | None:
        """The state kept under `key`."""
        with self._lock:
            if key in self._states:
                self._states.move_to_end(key)
            return self._states.get(key)

    def put(self, key: Owner, state: bytes) -> None:
        """Keep `state`; the least recently used states make room."""
        with self._lock:
            self._states[key] = state
            self._states.move_to_end(key)
            while len(self._states) > 1 and sum(map(len, self._states.values())) > self._most:
                self._states.popitem(last=False)


def _text_of(error: MontyError) -> str:
    display = getattr(error, "display", None)
    return display() if display is not None else f"The sandbox stopped the code: {error}"
