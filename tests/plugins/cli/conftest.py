"""The command line, called in a folder of its own: in this process, or as a process of its own."""

from __future__ import annotations

import codecs
import os
import pty
import select
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from newel.cli.group import cli
from newel.cli.startup import Startup
from newel_compose import compose
from newel_kernel import Stash

_VARIABLES = ("NEWEL_DISTRIBUTION", "GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")

#: Seconds after which a process that shows nothing new is stuck, however busy the machine is.
_PATIENCE = 60
#: What a prompt switches on when it begins to read.
_BRACKETED_PASTE = "\x1b[?2004h"


_CONTRIB = Path(__file__).parents[3] / "contrib"

_composed = cache(compose)


class Project:
    """The present folder of the command line."""

    def __init__(self, path: Path, site: Path) -> None:
        self.path = path
        self.site = site
        self.sources: list[Path] = []

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def install(self, distribution: str, plugins: Mapping[str, str], code: Mapping[str, str]) -> None:
        """Install a distribution of plugins (name -> module) with the modules' code."""
        info = self.site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        points = "".join(f"{name} = {module}\n" for name, module in plugins.items())
        (info / "entry_points.txt").write_text(f"[newel.plugins]\n{points}")
        for module, text in code.items():
            (self.site / f"{module}.py").write_text(dedent(text))

    def install_contrib(self, name: str) -> None:
        """Install the distribution in ``contrib/<name>``, with the entry points that its pyproject names."""
        source = _CONTRIB / name
        project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.install(project["name"], project["entry-points"]["newel.plugins"], {})
        self.sources.append(source)

    def newel(self, *args: str, stdin: str | None = None) -> Result:
        """A command in this process. What a test does not expect to be raised is raised here."""
        return CliRunner().invoke(cli, args, input=stdin, obj=self._startup(), catch_exceptions=False)

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process that finds what the test has installed."""
        return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [self.site, *self.sources]))}

    def _startup(self) -> Startup | None:
        """What a command composes, made once for all tests; models and the like are of each command, as in a process.

        None where a test has a distribution or plugins of its own.
        """
        own = [*self.site.iterdir(), *self.path.glob("newel.*")]
        if own or "NEWEL_DISTRIBUTION" in os.environ:
            return None
        return Startup(composition=replace(_composed(), stash=Stash()))

    def process(self, *args: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """A command in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "newel.cli.main", *args],
            cwd=self.path,
            env=self.env,
            input=stdin,
            text=True,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """A line of a shell."""
        return subprocess.run(
            ["bash", "-c", line], cwd=self.path, text=True, encoding="utf-8", capture_output=True, timeout=_PATIENCE
        )

    def refused(self, *args: str, status: int = 2, lines: int = 1) -> str:
        """The one line (or so many) of a refused command. It leaves nothing behind."""
        before = self.files()
        result = self.newel(*args)
        assert result.exit_code == status, result.output
        assert result.stdout == ""
        assert result.stderr.count("\n") == lines, result.stderr
        assert "Traceback" not in result.stderr
        assert self.files() == before
        return result.stderr.removeprefix("Error: ").rstrip()

    def files(self) -> set[str]:
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*") if "__pycache__" not in file.parts}


class Terminal:
    """A chat in a pseudo-terminal."""

    def __init__(self, cwd: Path, *args: str) -> None:
        self._main, side = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "newel.cli.main", "chat", *args],
            cwd=cwd,
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        )
        os.close(side)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text = ""
        #: Everything that was ever on it.
        self.seen = ""

    def expect(self, text: str) -> None:
        """Wait until `text` has appeared; what came up to it is consumed."""
        while text not in self.text:
            assert select.select([self._main], [], [], _PATIENCE)[0], f"no {text!r} came after {self.text!r}"
            try:
                read = self._decoder.decode(os.read(self._main, 65536))
            except OSError:  # closed
                break
            self.text += read
            self.seen += read
        assert text in self.text, self.text
        self.text = self.text.partition(text)[2]

    def prompted(self, label: str) -> None:
        """Wait until it begins to read a line at the prompt `label`; drawing that prompt again does not count."""
        self.expect(_BRACKETED_PASTE)
        self.expect(label)

    def send(self, keys: str) -> None:
        os.write(self._main, keys.encode())

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def close(self) -> int:
        try:
            return self.process.wait(_PATIENCE)
        finally:
            self.process.kill()
            os.close(self._main)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    folder, site = tmp_path / "project", tmp_path / "site"
    folder.mkdir()
    site.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    before = set(sys.modules)
    yield Project(folder, site)
    for name in set(sys.modules) - before:  # the next test may have a module of that name
        if str(tmp_path) in _places(sys.modules[name]):
            del sys.modules[name]


def _places(module: ModuleType) -> str:
    """The file of a module, or the folders of a package without one."""
    return str(getattr(module, "__file__", None) or list(getattr(module, "__path__", ())))


@pytest.fixture
def scripted(project: Project) -> Callable[[str], str]:
    """Makes the address of a model that follows the given steps."""

    def make(steps: str) -> str:
        return f"script:{project.write('steps.yaml', steps)}"

    return make


@pytest.fixture
def terminal_of(project: Project) -> Iterator[Callable[..., Terminal]]:
    """Opens a chat of these arguments in a terminal."""
    opened: list[Terminal] = []

    def open_(*args: str) -> Terminal:
        opened.append(Terminal(project.path, *args))
        return opened[-1]

    yield open_
    for terminal in opened:
        terminal.process.kill()
        terminal.process.wait()
