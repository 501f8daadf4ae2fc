"""An executor without any protection: code runs as a process of this machine, with your rights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO

from pydantic import Field

from newel.code_executors.base_code_executor import BaseCodeExecutor, CodeExecutionInput, CodeExecutionResult
from newel.code_executors.bounded_output import Output
from newel_kernel import ConfigurationError, InvocationContext

#: The variables that a process needs to start; keys and tokens of this process are not passed on.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")


class UnsafeLocalCodeExecutor(BaseCodeExecutor):
    """Runs code in a subprocess that may do whatever you may: read your files, use your network.

    Only with ``allow_unsafe=True``. It keeps no variables and takes no data files.
    """

    allow_unsafe: bool = False
    timeout_seconds: float = Field(default=60.0, gt=0)

    def model_post_init(self, context: object, /) -> None:
        """Refuse what it cannot do, and any use without `allow_unsafe`."""
        super().model_post_init(context)
        if not self.allow_unsafe:
            raise ConfigurationError(
                "UnsafeLocalCodeExecutor runs the code that a model writes with your rights on this machine; "
                "use SandboxCodeExecutor(), or say UnsafeLocalCodeExecutor(allow_unsafe=True)"
            )
        refuse_unsupported(self)

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code; `stderr` is set if it failed or ran out of time."""
        with tempfile.TemporaryDirectory(prefix="newel-code-", ignore_cleanup_errors=True) as folder:
            process = _started(code_execution_input.code, folder)
            printed, failed = Output(), Output()
            readers = [_reading(process.stdout, printed), _reading(process.stderr, failed)]
            try:
                code = process.wait(self.timeout_seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
            for reader in readers:
                reader.join(timeout=1.0)  # a descendant that left the group may hold the pipe open
        if code is None:
            problem = f"The code was stopped: it ran longer than {self.timeout_seconds:g} seconds."
            return CodeExecutionResult(stdout=printed.text(), stderr=problem)
        if code:
            return CodeExecutionResult(stdout=printed.text(), stderr=failed.text() or f"The code exited with {code}.")
        return CodeExecutionResult(stdout=printed.text() + failed.text())


def refuse_unsupported(executor: BaseCodeExecutor) -> None:
    """Raise for settings that an executor without its own memory and files cannot support."""
    for name in ("stateful", "optimize_data_file"):
        if getattr(executor, name):
            raise ConfigurationError(
                f"{type(executor).__name__} does not support {name}=True; leave it out, or use SandboxCodeExecutor"
            )


def _started(code: str, folder: str) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    source = os.path.join(folder, "main.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(code)
    return subprocess.Popen(  # noqa: S603 - running it is the purpose, and the user allowed it
        [sys.executable, "-I", "-X", "utf8", source],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _reading(pipe: IO[bytes] | None, output: Output) -> threading.Thread:
    """Keep reading beyond the bound: a full pipe would stop the code."""

    def read() -> None:
        assert pipe is not None
        with pipe:
            while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
                output.add(chunk.decode("utf-8", "replace"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and those it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
