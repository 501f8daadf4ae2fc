"""The house holds together: arrows point down, rooms stay small, and starting imports no SDK."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "kernel" / "newel_kernel"
PLUGINS = ROOT / "plugins" / "newel"
CONTRIB = ROOT / "contrib"
SDKS = ("anthropic", "google.genai", "litellm", "openai", "sqlalchemy", "starlette")
#: What the kernel may import besides the standard library and itself.
KERNEL_NEEDS = {"newel_kernel", "pluggy", "pydantic", "pydantic_core", "stevedore", "yaml"}
KERNEL_CODE_LINES = 3_950


@cache
def modules(folder: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}


def expect_none(problems: Iterable[str]) -> None:
    found = list(problems)
    assert not found, "\n".join(found)


def is_type(path: Path) -> bool:
    return "types" in path.relative_to(KERNEL).parts


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def too_long(folder: Path, most: int) -> list[str]:
    """The functions of more than `most` lines."""
    return [
        f"{shown(path)}:{node.lineno} {node.name}: {length}"
        for path, tree in modules(folder).items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (length := (node.end_lineno or 0) - node.lineno + 1) > most
    ]


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each import as (module, name); the name is empty for ``import module``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def code_lines(path: Path) -> int:
    """The lines with code: no blank ones, comments or docstrings."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in nothing:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def run_python(code: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "NEWEL_DISTRIBUTION"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_modules_of_the_kernel_are_small() -> None:
    limits = {path: 400 if is_type(path) else 250 for path in modules(KERNEL)}
    expect_none(f"{shown(p)}: {n} > {limit}" for p, limit in limits.items() if (n := lines_of(p)) > limit)


def test_modules_of_the_plugins_are_small() -> None:
    paths = [*modules(PLUGINS), *modules(CONTRIB)]
    expect_none(f"{shown(path)}: {n}" for path in paths if (n := lines_of(path)) > 400)


def test_functions_are_short() -> None:
    expect_none([*too_long(KERNEL, 40), *too_long(PLUGINS, 60), *too_long(CONTRIB, 60)])


def test_the_kernel_stays_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    total = sum(code_lines(path) for path in modules(KERNEL) if not is_type(path))
    with capsys.disabled():
        print(f"\nnewel_kernel without types: {total:,} lines of code (at most {KERNEL_CODE_LINES:,})")
    assert total <= KERNEL_CODE_LINES


def test_code_lines_leave_out_blanks_comments_and_docstrings(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '"""Doc\n\nstring."""\n\nx = (\n    1,  # one\n\n    # two\n)\n\n\ndef f():\n    """Doc."""\n\n', "utf-8"
    )
    assert code_lines(file) == 4


# --- arrows -----------------------------------------------------------------------------------------------------------


def test_the_kernel_imports_little() -> None:
    allowed = KERNEL_NEEDS | sys.stdlib_module_names
    expect_none(
        f"{shown(path)} imports {module}"
        for path, tree in modules(KERNEL).items()
        for module, _ in imports(tree)
        if module.partition(".")[0] not in allowed
    )


def test_plugins_use_public_names_of_the_kernel() -> None:
    expect_none(
        f"{shown(path)} imports {module}.{name}"
        for folder in (PLUGINS, CONTRIB)
        for path, tree in modules(folder).items()
        for module, name in imports(tree)
        if module.partition(".")[0] == "newel_kernel"
        and any(part.startswith("_") and not part.startswith("__") for part in f"{module}.{name}".split("."))
    )


def test_nothing_is_called_utils() -> None:
    """No room for what has no place; `newel.utils` is a module of the specified API and holds only such."""
    rooms = [ROOT, ROOT / "kernel", ROOT / "plugins", *CONTRIB.iterdir(), PLUGINS]
    found = [path for room in rooms if room.is_dir() for path in room.iterdir()] + list(KERNEL.rglob("*"))
    vague = {"common", "helpers", "misc", "utils"}
    expect_none(shown(path) for path in found if path.stem in vague and path != PLUGINS / "utils")


# --- starting ---------------------------------------------------------------------------------------------------------

_HELP = """
import sys
from newel.cli.main import main
sys.argv = ["newel", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
"""
_STARTS = {
    "import": "import newel; newel.Agent, newel.Runner, newel.run, newel.tool",
    "compose": "from newel_compose import compose; assert compose('standard').request_chain",
    "help": _HELP,
}


@pytest.mark.parametrize("start", _STARTS)
def test_starting_imports_no_sdk(start: str, tmp_path: Path) -> None:
    code = f"{_STARTS[start]}\nimport sys; print('LOADED', [m for m in {SDKS!r} if m in sys.modules])"
    assert run_python(code, tmp_path).splitlines()[-1] == "LOADED []"


@pytest.mark.parametrize("package", ["newel", "newel_kernel"])
def test_public_names_resolve(package: str) -> None:
    module = import_module(package)
    names = [name for name in dir(module) if not name.startswith("_")]
    assert len(names) > 5
    expect_none(name for name in names if getattr(module, name, None) is None)


# --- spelling ---------------------------------------------------------------------------------------------------------


def repository_files() -> list[Path]:
    """The files under version control, or about to be; without git, those that lie in visible folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, cwd=ROOT, check=True).stdout.decode().split("\0")
        found = [ROOT / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if not any(p.startswith(".") for p in path.relative_to(ROOT).parts)]
    return [path for path in found if path.is_file() and path.suffix != ".pyc"]


def test_no_file_names_a_path_of_some_machine() -> None:
    folders = [f"/{name}/".encode() for name in ("work", "root")]  # spelt so that this file passes
    expect_none(
        f"{shown(path)} contains {folder.decode()}"
        for path in repository_files()
        for folder in folders
        if folder in path.read_bytes()
    )
