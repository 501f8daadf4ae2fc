"""The sandbox: what code can do in it, how each way out is closed, and what stops it."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from types import SimpleNamespace
from typing import Any

import pytest

from newel.code_executors import CodeExecutionFile, CodeExecutionInput, CodeExecutionResult, SandboxCodeExecutor
from newel.code_executors.bounded_output import MAX_OUTPUT
from newel.code_executors.kinds import CodeExecutor
from newel_compose import compose
from newel_kernel import FeatureUnavailableError

CTX: Any = SimpleNamespace(app_name="a", user_id="u")


def run(code: str, executor: SandboxCodeExecutor | None = None, ctx: Any = CTX, **given: Any) -> CodeExecutionResult:
    return (executor or SandboxCodeExecutor()).execute_code(ctx, CodeExecutionInput(code=code, **given))


class TestRuns:
    def test_code_and_gives_what_it_printed(self) -> None:
        assert run("import math\nfor i in range(3):\n    print(math.sqrt(i * i))") == CodeExecutionResult(
            stdout="0.0\n1.0\n2.0\n"
        )

    def test_tells_what_was_raised_and_keeps_what_was_printed(self) -> None:
        result = run("print('before')\n1 / 0")
        assert result.stdout == "before\n"
        assert "line 2" in result.stderr
        assert result.stderr.endswith("ZeroDivisionError: division by zero")

    def test_tells_a_syntax_error(self) -> None:
        assert "SyntaxError" in run("def (").stderr

    def test_reads_input_files_and_gives_those_written(self) -> None:
        file = CodeExecutionFile(name="in.csv", content="YSxiCjEsMgo=", mime_type="text/csv")
        result = run("with open('out.txt', 'w') as f:\n    f.write(open('in.csv').read() * 2)", input_files=[file])
        assert result.stderr == ""
        assert result.output_files == [CodeExecutionFile(name="out.txt", content=b"a,b\n1,2\n" * 2)]

    def test_takes_no_value_of_a_last_expression(self) -> None:
        assert run("[0] * 1_000_000") == CodeExecutionResult()


class TestEscapes:
    @pytest.mark.parametrize(
        "code",
        [
            "print(open('/etc/passwd').read())",
            "print(open('../../../../etc/passwd').read())",
            "from pathlib import Path\nprint(Path('/etc/passwd').read_text())",
            "import socket",
            "import urllib.request",
            "import subprocess",
            "import ctypes",
            "import multiprocessing",
            "import os\nos.system('id')",
            "import os\nos.fork()",
            "__import__('os').system('id')",
            "eval(\"__import__('os')\")",
            "().__class__.__bases__[0].__subclasses__()",
            "(lambda: 0).__globals__['__builtins__']",
            "import pydantic_monty",
        ],
    )
    def test_fails(self, code: str) -> None:
        result = run(code)
        assert result.stdout == ""
        assert result.stderr
        assert "root:" not in result.stderr

    def test_sees_no_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SECRET_KEY", "s3cret")
        assert run("import os\nprint(os.getenv('SECRET_KEY'), os.environ)").stdout == "None {}\n"

    def test_sees_only_its_own_files(self) -> None:
        code = "from pathlib import Path\nopen('mine', 'w').write('x')\nprint(list(Path('/').iterdir()))"
        assert run(code).stdout == "[PosixPath('/mine')]\n"

    @pytest.mark.parametrize("name", ["user:settings", "/..", "a/../user:b"])
    def test_names_no_artifact_of_other_sessions(self, name: str) -> None:
        assert run(f"open({name!r}, 'w').write('x')").output_files == []


class TestLimits:
    @pytest.mark.parametrize("code", ["while True: pass", "while True: print('x' * 1000)", "sum(range(10 ** 12))"])
    def test_time(self, code: str) -> None:
        result = run(code, SandboxCodeExecutor(timeout_seconds=0.3))
        assert "TimeoutError" in result.stderr
        assert len(result.stdout) < MAX_OUTPUT + 100

    def test_a_sleep_takes_none(self) -> None:  # it would take an hour
        assert run("import time\ntime.sleep(3600)\nprint('up')").stdout == "up\n"

    @pytest.mark.parametrize("code", ["x = 'a' * 10 ** 10", "x = [1]\nwhile True: x = x + x", "x = 2 ** 10 ** 10"])
    def test_memory(self, code: str) -> None:
        assert "MemoryError" in run(code).stderr

    @pytest.mark.parametrize("code", ["def f(): return f()\nf()", "(" * 100_000])
    def test_recursion(self, code: str) -> None:
        assert run(code).stderr

    def test_output(self) -> None:
        stdout = run("print('x' * 1_000_000)\nprint('the end')").stdout
        assert len(stdout) < MAX_OUTPUT + 100
        assert "characters left out" in stdout
        assert stdout.endswith("the end\n")

    def test_bytes_written(self) -> None:
        code = "for i in range(100): open(f'f{i}', 'w').write('x' * 1000)"
        result = run(code, SandboxCodeExecutor(max_file_bytes=5000))
        assert "No space left" in result.stderr
        assert result.output_files == []

    def test_a_stopped_execution_harms_no_later_one(self) -> None:
        executor = SandboxCodeExecutor(timeout_seconds=0.2)
        assert run("while True: pass", executor).stderr
        assert run("print(1)", executor).stdout == "1\n"


class TestStateful:
    def test_keeps_variables_of_one_execution_id(self) -> None:
        executor = SandboxCodeExecutor(stateful=True)
        run("x = 41", executor, execution_id="e")
        assert run("print(x + 1)", executor, execution_id="e").stdout == "42\n"
        assert "NameError" in run("print(x)", executor, execution_id="other").stderr

    def test_keeps_none_for_another_user_with_the_same_id(self) -> None:
        executor = SandboxCodeExecutor(stateful=True)
        run("x = 41", executor, execution_id="e")
        other = SimpleNamespace(app_name="a", user_id="somebody else")
        assert "NameError" in run("print(x)", executor, other, execution_id="e").stderr

    def test_what_failed_left_nothing(self) -> None:
        executor = SandboxCodeExecutor(stateful=True)
        run("x = 1", executor, execution_id="e")
        run("x = 2\n1 / 0", executor, execution_id="e")
        assert run("print(x)", executor, execution_id="e").stdout == "1\n"

    def test_is_off_unless_asked_for(self) -> None:
        executor = SandboxCodeExecutor()
        run("x = 1", executor, execution_id="e")
        assert "NameError" in run("print(x)", executor, execution_id="e").stderr


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = PathFinder.find_spec

    def find_spec(name: str, *rest: Any) -> Any:
        return None if name == "pydantic_monty" else found(name, *rest)

    monkeypatch.setattr(PathFinder, "find_spec", find_spec)
    monkeypatch.delitem(sys.modules, "pydantic_monty", raising=False)
    with pytest.raises(FeatureUnavailableError, match=r'pip install "newel\[sandbox\]"'):
        SandboxCodeExecutor()


def test_is_what_the_name_sandbox_makes() -> None:
    made = compose("adk").registry.find(CodeExecutor, "sandbox").create(timeout_seconds=3)
    assert isinstance(made, SandboxCodeExecutor)
    assert made.timeout_seconds == 3


def test_every_executor_has_a_name() -> None:
    names = list(compose("adk").registry.owned(CodeExecutor))
    assert sorted(names) == ["built_in", "container", "sandbox", "unsafe_local"]
