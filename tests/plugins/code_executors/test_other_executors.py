"""The unsafe, the container's and the model's own executor; the context; code in contents."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from shutil import which
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from newel.code_executors import (
    BuiltInCodeExecutor,
    CodeExecutionFile,
    CodeExecutionInput,
    CodeExecutionResult,
    CodeExecutorContext,
    ContainerCodeExecutor,
    UnsafeLocalCodeExecutor,
)
from newel.code_executors.base_code_executor import BaseCodeExecutor
from newel.code_executors.bounded_output import MAX_OUTPUT, Output, bounded
from newel.code_executors.code_execution_utils import CodeExecutionUtils
from newel_kernel import ConfigurationError, FeatureUnavailableError, LlmRequest, State
from newel_types import Content, Part

CTX: Any = SimpleNamespace()


def run(executor: BaseCodeExecutor, code: str) -> CodeExecutionResult:
    return executor.execute_code(CTX, CodeExecutionInput(code=code))


class TestUnsafeLocal:
    def test_refuses_unless_allowed(self) -> None:
        with pytest.raises(ValueError, match=r"use SandboxCodeExecutor\(\), or say .*allow_unsafe=True"):
            UnsafeLocalCodeExecutor()

    @pytest.mark.parametrize("name", ["stateful", "optimize_data_file"])
    def test_refuses_what_it_cannot_do(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"does not support {name}=True"):
            UnsafeLocalCodeExecutor(allow_unsafe=True, **{name: True})

    def test_runs_in_another_process(self) -> None:
        result = run(UnsafeLocalCodeExecutor(allow_unsafe=True), "import os\nprint(os.getppid(), __name__)")
        assert result.stdout == f"{__import__('os').getpid()} __main__\n"

    def test_gives_the_traceback_of_a_failure_only(self) -> None:
        executor = UnsafeLocalCodeExecutor(allow_unsafe=True)
        assert "ZeroDivisionError" in run(executor, "print('x')\n1 / 0").stderr
        warned = run(executor, "import sys\nprint('careful', file=sys.stderr)")
        assert (warned.stdout, warned.stderr) == ("careful\n", "")
        assert run(executor, "raise SystemExit(3)").stderr == "The code exited with 3."

    def test_hands_on_no_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SECRET_KEY", "s3cret")
        assert "s3cret" not in run(UnsafeLocalCodeExecutor(allow_unsafe=True), "import os\nprint(os.environ)").stdout

    @pytest.mark.parametrize("code", ["while True: pass", "while True: print('x' * 1000)", "input()\nwhile True: pass"])
    def test_stops_what_takes_too_long(self, code: str) -> None:
        result = run(UnsafeLocalCodeExecutor(allow_unsafe=True, timeout_seconds=0.5), code)
        assert result.stderr
        assert len(result.stdout) < MAX_OUTPUT + 100

    def test_stops_what_it_started_as_well(self) -> None:
        begun = time.monotonic()
        code = "import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint(1)"
        assert run(UnsafeLocalCodeExecutor(allow_unsafe=True), code).stdout == "1\n"
        assert time.monotonic() - begun < 50


class Docker(ModuleType):
    """Stands in for the Docker SDK: without an engine, or with one whose container is a process of this machine."""

    class errors:
        class DockerException(Exception):
            pass

    def __init__(self, engine: Engine | None = None) -> None:
        super().__init__("docker")
        self.__spec__ = ModuleSpec("docker", None)
        self._engine = engine

    def from_env(self) -> Any:
        if self._engine is None:
            raise self.errors.DockerException("connection refused")
        return self._engine


class Engine:
    """A client, its API and its only container."""

    id = "c"

    def __init__(self, lacking: bool = False) -> None:
        self.api = self.containers = self
        self.options: dict[str, Any] = {}
        self.removed = False
        self._lacking = lacking
        self._commands: dict[str, Any] = {}

    def run(self, **options: Any) -> Engine:
        self.options = options
        return self

    def exec_run(self, command: list[str]) -> Any:
        return SimpleNamespace(exit_code=1 if self._lacking else 0)

    def exec_create(self, container: str, command: list[str]) -> dict[str, str]:
        self._commands["e"] = command
        return {"Id": "e"}

    def exec_start(self, execution: str, *, stream: bool, demux: bool) -> Iterator[tuple[bytes | None, bytes | None]]:
        done = subprocess.run(self._commands[execution], capture_output=True)
        self._commands[execution] = 128 - done.returncode if done.returncode < 0 else done.returncode
        yield done.stdout or None, None
        yield None, done.stderr or None

    def exec_inspect(self, execution: str) -> dict[str, Any]:
        return {"ExitCode": self._commands[execution]}

    def remove(self, *, force: bool) -> None:
        self.removed = force


class TestContainer:
    def test_needs_an_image(self) -> None:
        with pytest.raises(ValueError, match="needs image= or docker_path="):
            ContainerCodeExecutor()

    def test_needs_the_folder_that_it_names(self) -> None:
        with pytest.raises(ValueError, match="is not a folder"):
            ContainerCodeExecutor(docker_path="/nowhere/at/all")

    def test_without_the_sdk_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = PathFinder.find_spec
        monkeypatch.delitem(sys.modules, "docker", raising=False)
        monkeypatch.setattr(
            PathFinder, "find_spec", lambda name, *rest: None if name == "docker" else found(name, *rest)
        )
        with pytest.raises(FeatureUnavailableError, match=r'pip install "newel\[container\]"'):
            ContainerCodeExecutor(image="python:3.13-slim")

    def test_without_an_engine_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "docker", Docker())
        executor = ContainerCodeExecutor(image="python:3.13-slim")
        with pytest.raises(FeatureUnavailableError, match=r"connection refused.*base_url= or DOCKER_HOST"):
            run(executor, "print(1)")
        executor.close()

    def test_an_image_without_python_is_refused_and_its_container_removed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = Engine(lacking=True)
        monkeypatch.setitem(sys.modules, "docker", Docker(engine))
        with pytest.raises(ConfigurationError, match="'scratch' lacks python3 or timeout"):
            run(ContainerCodeExecutor(image="scratch"), "print(1)")
        assert engine.removed

    @pytest.mark.skipif(not (which("timeout") and which("python3")), reason="plays the container on this machine")
    def test_runs_in_a_closed_container(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = Engine()
        monkeypatch.setitem(sys.modules, "docker", Docker(engine))
        executor = ContainerCodeExecutor(image="python:3.13-slim", timeout_seconds=2)
        assert run(executor, "print(1)") == CodeExecutionResult(stdout="1\n")
        assert run(executor, "1 / 0").stderr.endswith("ZeroDivisionError: division by zero\n")
        assert "longer than 2 seconds" in run(executor, "while True: pass").stderr
        assert (engine.options["network_disabled"], engine.options["cap_drop"]) == (True, ["ALL"])
        executor.close()
        assert engine.removed


class TestBuiltIn:
    @pytest.mark.parametrize(
        "model", ["gemini-2.0-flash", "gemini-2.5-pro", "models/gemini-3-pro", "gemini-flash-early-exp2"]
    )
    def test_declares_the_models_own_tool(self, model: str) -> None:
        request = LlmRequest(model=model)
        BuiltInCodeExecutor().process_llm_request(request)
        assert [tool.model_dump(exclude_none=True) for tool in request.config.tools or ()] == [{"code_execution": {}}]

    @pytest.mark.parametrize("model", ["gemini-1.5-pro", "gpt-5", "my-gemini-2", None])
    def test_refuses_models_without(self, model: str | None) -> None:
        with pytest.raises(ConfigurationError, match="SandboxCodeExecutor"):
            BuiltInCodeExecutor().process_llm_request(LlmRequest(model=model))

    def test_runs_nothing(self) -> None:
        with pytest.raises(FeatureUnavailableError, match="the model does"):
            run(BuiltInCodeExecutor(), "print(1)")


class TestContext:
    def test_keeps_what_it_is_told_in_the_state(self) -> None:
        delta: dict[str, Any] = {}
        context = CodeExecutorContext(State({}, delta))
        assert context.get_state_delta() == {"_code_execution_context": {}}
        context.set_execution_id("e")
        context.add_processed_file_names(["a.csv"])
        context.add_processed_file_names(["b.csv"])
        context.add_input_files([CodeExecutionFile("a.csv", "YQ==", "text/csv")])
        context.increment_error_count("i")
        context.increment_error_count("i")
        context.update_code_execution_result("i", "1", "2", "3")
        again = CodeExecutorContext(State(dict(delta), {}))
        assert again.get_execution_id() == "e"
        assert again.get_processed_file_names() == ["a.csv", "b.csv"]
        assert again.get_input_files() == [CodeExecutionFile("a.csv", "YQ==", "text/csv")]
        assert (again.get_error_count("i"), again.get_error_count("other")) == (2, 0)
        assert delta["_code_execution_results"]["i"][0]["result_stdout"] == "2"

    def test_forgets(self) -> None:
        context = CodeExecutorContext(State({}, {}))
        context.add_processed_file_names(["a.csv"])
        context.add_input_files([CodeExecutionFile("a.csv", "YQ==")])
        context.increment_error_count("i")
        context.clear_input_files()
        context.reset_error_count("i")
        assert context.get_input_files() == []
        assert context.get_processed_file_names() == []
        assert context.get_error_count("i") == 0

    def test_never_edits_a_value_in_place(self) -> None:
        committed = {"_code_execution_context": {"processed_input_files": ["a.csv"]}}
        CodeExecutorContext(State(dict(committed), {})).add_processed_file_names(["b.csv"])
        assert committed == {"_code_execution_context": {"processed_input_files": ["a.csv"]}}


FENCES = BaseCodeExecutor.model_fields["code_block_delimiters"].default


def extracted(*texts: str, fences: Any = FENCES) -> tuple[str | None, list[str | None]]:
    content = Content(role="model", parts=[Part(text=text) for text in texts])
    code = CodeExecutionUtils.extract_code_and_truncate_content(content, fences)
    return code, [part.text for part in content.parts or ()]


class TestExtraction:
    def test_takes_the_first_block_and_drops_the_rest(self) -> None:
        text = "a\n```python\nb\n```\nc\n```python\nd\n```"
        assert extracted(text) == ("b", ["a\n", None])

    def test_reads_text_over_several_parts(self) -> None:
        assert extracted("a\n```python", "b\n```") == ("b", ["a\n", None])

    def test_takes_tool_code_too(self) -> None:
        assert extracted("```tool_code\nb\n```") == ("b", [None])

    @pytest.mark.parametrize("text", ["plain", "```python\nnever closed", "```\nno language\n```", "```python\n\n```"])
    def test_changes_nothing_without_code(self, text: str) -> None:
        assert extracted(text) == (None, [text])

    def test_takes_delimiters_as_they_are_written(self) -> None:
        assert extracted("[code]1+1[/code]", fences=[("[code]", "[/code]")]) == ("1+1", [None])
        assert extracted("code", fences=[]) == (None, ["code"])

    def test_takes_executable_parts_without_a_result(self) -> None:
        code = CodeExecutionUtils.build_executable_code_part("1")
        result = CodeExecutionUtils.build_code_execution_result_part(CodeExecutionResult(stdout="1"))
        ran = Content(role="model", parts=[code, result])
        assert CodeExecutionUtils.extract_code_and_truncate_content(ran, FENCES) is None
        open_end = Content(role="model", parts=[code, Part(text="tail")])
        assert CodeExecutionUtils.extract_code_and_truncate_content(open_end, FENCES) == "1"
        assert open_end.parts == [code]


def test_base64_is_not_encoded_twice() -> None:
    encode = CodeExecutionUtils.get_encoded_file_content
    assert encode(b"a,b\n1,2\n") == b"YSxiCjEsMgo=" == encode(b"YSxiCjEsMgo=")


class TestBounds:
    def test_short_text_stays(self) -> None:
        assert bounded("abc", 3) == "abc"

    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_long_text_loses_its_middle_in_whatever_pieces_it_comes(self, size: int) -> None:
        text = "".join(map(str, range(1000)))
        output = Output(100)
        for at in range(0, len(text), size):
            output.add(text[at : at + size])
        assert output.text() == bounded(text, 100)
        assert output.text().startswith(text[:75])
        assert output.text().endswith(text[-25:])
