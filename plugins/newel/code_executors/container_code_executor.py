"""An executor that runs code with python3 in a Docker container."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Protocol

from pydantic import Field, PrivateAttr

from newel.code_executors.base_code_executor import BaseCodeExecutor, CodeExecutionInput, CodeExecutionResult
from newel.code_executors.bounded_output import Output
from newel.code_executors.unsafe_local_code_executor import refuse_unsupported
from newel_kernel import ConfigurationError, FeatureUnavailableError, InvocationContext

_BUILT = "newel-code-executor:latest"
#: The exit codes of ``timeout -s KILL`` after a timeout: its own, or the killed command's.
_STOPPED = (124, 137)


class Ended(Protocol):
    """A command that ran in a container."""

    exit_code: int


class Container(Protocol):
    """The used part of the Docker SDK's containers, which have no annotations."""

    id: str

    def exec_run(self, cmd: list[str]) -> Ended:
        """Run a command and wait for its end."""

    def remove(self, *, force: bool) -> None:
        """Remove the container, even if it runs."""


class ContainerCodeExecutor(BaseCodeExecutor):
    """Runs code in one container, started at the first execution (``pip install "newel[container]"``).

    Give `image`, which must have ``python3`` and ``timeout``, or `docker_path`, a folder with a Dockerfile. The
    container has no network and no capabilities unless `network` says so. It keeps no variables.
    """

    image: str | None = None
    docker_path: str | None = None
    #: The engine's address, if it is not the one in DOCKER_HOST.
    base_url: str | None = None
    network: bool = False
    mem_limit: str = "512m"
    timeout_seconds: float = Field(default=60.0, gt=0)

    _client: Any = PrivateAttr(default=None)
    _container: Container | None = PrivateAttr(default=None)
    _starting: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def model_post_init(self, context: object, /) -> None:
        """Check what can be checked without the engine."""
        super().model_post_init(context)
        if not self.image and not self.docker_path:
            raise ConfigurationError("ContainerCodeExecutor needs image= or docker_path=, a folder with a Dockerfile")
        if self.docker_path and not os.path.isdir(self.docker_path):
            raise ConfigurationError(f"docker_path={self.docker_path!r} is not a folder; name one with a Dockerfile")
        refuse_unsupported(self)
        if find_spec("docker") is None:
            raise FeatureUnavailableError(
                'ContainerCodeExecutor needs the Docker SDK, which is not installed: pip install "newel[container]"'
            )

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Run the code; `stderr` is set if it failed or ran out of time."""
        with self._starting:
            if self._container is None:
                self._container = self._start()
        command = ["timeout", "-s", "KILL", f"{self.timeout_seconds:g}", "python3", "-c", code_execution_input.code]
        engine = self._client.api
        execution = engine.exec_create(self._container.id, command)["Id"]
        printed, failed = Output(), Output()
        for out, err in engine.exec_start(execution, stream=True, demux=True):
            printed.add((out or b"").decode("utf-8", "replace"))
            failed.add((err or b"").decode("utf-8", "replace"))
        code = engine.exec_inspect(execution)["ExitCode"]
        if code in _STOPPED:
            problem = f"it ran longer than {self.timeout_seconds:g} seconds or took too much memory"
            return CodeExecutionResult(stdout=printed.text(), stderr=f"The code was stopped: {problem}.")
        if code:
            return CodeExecutionResult(stdout=printed.text(), stderr=failed.text() or f"The code exited with {code}.")
        return CodeExecutionResult(stdout=printed.text() + failed.text())

    def close(self) -> None:
        """Remove the container; it is also removed with the executor, and at the end of the process."""
        container, self._container = self._container, None
        if container is not None:
            _remove(container)

    def _start(self) -> Container:
        import docker

        try:
            self._client = docker.DockerClient(base_url=self.base_url) if self.base_url else docker.from_env()
            if self.docker_path:
                self._client.images.build(path=self.docker_path, tag=self.image or _BUILT, rm=True)
            container: Container = self._client.containers.run(
                image=self.image or _BUILT,
                command=["sleep", "infinity"],
                detach=True,
                init=True,
                network_disabled=not self.network,
                mem_limit=self.mem_limit,
                pids_limit=128,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
            )
        except docker.errors.DockerException as error:
            raise FeatureUnavailableError(
                f"ContainerCodeExecutor cannot use the Docker engine ({error}); start it, or say where it is with "
                "base_url= or DOCKER_HOST"
            ) from error
        weakref.finalize(self, _remove, container)
        if container.exec_run(["which", "python3", "timeout"]).exit_code:
            _remove(container)
            raise ConfigurationError(f"the image {self.image or _BUILT!r} lacks python3 or timeout; use one with both")
        return container


def _remove(container: Container) -> None:
    with suppress(Exception):  # it is gone, or the engine is
        container.remove(force=True)
