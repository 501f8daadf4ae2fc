"""`newel new plugin --kind ...`, and the ten plugins of the docs: clean, typed, tested, built, ready for an index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.typing.checkers import MYPY_CACHE

from newel.cli.new import new
from newel.cli.skeletons import KINDS
from newel.cli.startup import Startup
from newel_compose import compose

#: All are installed at once, as a user would have several plugins.
NAMES = {kind: f"my_{kind}" for kind in KINDS}
HERE = Path(sysconfig.get_path("scripts"))
PAGE = Path(__file__).resolve().parents[3] / "docs" / "plugins" / "ten-plugins.md"
_COMMAND = re.compile(r"^```console\nnewel (.*)\n```$", re.MULTILINE)
_FILE = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What the page makes: the plugin, and its kind.
TEN = dict(re.findall(r"new plugin (\w+) --kind (\w+)", PAGE.read_text(encoding="utf-8")))
ALL = (*NAMES.values(), *TEN)
#: A build of the wheel from the source archive, without an environment of its own: many packages in one process.
_BUILD = """
import os, sys, tarfile
from hatchling.build import build_sdist, build_wheel
for folder in sys.argv[1:]:
    os.chdir(folder)
    dist = os.path.join(folder, "dist")
    with tarfile.open(os.path.join(dist, build_sdist(dist))) as archive:
        archive.extractall("unpacked", filter="data")
    os.chdir(os.path.join("unpacked", os.listdir("unpacked")[0]))
    build_wheel(dist)
"""


def run(*command: object, cwd: Path, check: bool = True) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEWEL_", "PYTEST_", "COV_"))}
    env = {**kept, "NO_PROXY": "127.0.0.1", "SOURCE_DATE_EPOCH": "1790000000"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, (
        f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
    )
    return done.stdout


def folder_of(made: Path, name: str) -> Path:
    return made / f"newel-{name.replace('_', '-')}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plugin of each kind, and the ten of the page: its commands, then its files."""
    folder = tmp_path_factory.mktemp("skeletons")
    startup = Startup(composition=compose("standard"))
    page = PAGE.read_text(encoding="utf-8")
    commands = [["new", "plugin", name, "--kind", kind] for kind, name in NAMES.items()]
    commands += [line.split() for line in _COMMAND.findall(page)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command, *arguments in commands:
            assert command == "new"
            result = CliRunner().invoke(new, arguments, obj=startup)
            assert result.exit_code == 0, result.output
    for path, text in _FILE.findall(page):
        assert (folder / path).is_file(), f"{path} replaces nothing"
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def built(written: Path) -> Path:
    """The same with archives and wheels."""
    run(sys.executable, "-c", _BUILD, *(folder_of(written, name) for name in ALL), cwd=written)
    return written


@pytest.fixture(scope="module")
def made(built: Path) -> Path:
    """The same, all wheels installed in an environment of their own, without an index."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", built / "venv"], check=True)
    (site,) = (built / "venv" / "lib").glob("python*/site-packages")
    (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    wheels = [wheel for name in ALL for wheel in (folder_of(built, name) / "dist").glob("*.whl")]
    python = built / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--no-index", *wheels, cwd=built)
    return built


def failures(made: Path) -> dict[str, list[str]]:
    """Plugin -> the failures of its own tests, all of which ran in one process; an empty list: they passed."""
    folders = [folder_of(made, name) / "tests" for name in ALL]
    report = made / "report.xml"
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", made, f"--junitxml={report}")
    shown = run(made / "venv" / "bin" / "python", "-m", "pytest", *options, *folders, cwd=made, check=False)
    assert report.is_file(), shown[-4000:]
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        failures = [one.get("message") or one.tag for one in case if one.tag in ("failure", "error", "skipped")]
        plugin = case.get("classname", "").partition(".")[0].removeprefix("newel-").replace("-", "_")
        found.setdefault(plugin, []).extend(f"{case.get('name')}: {failure}" for failure in failures)
    return found


def test_the_page_has_ten_kinds() -> None:
    assert len(TEN) == len(set(TEN.values())) == 10


def test_all_are_clean_and_formatted(written: Path) -> None:
    folders = [folder_of(written, name) for name in NAMES.values()]
    run(HERE / "ruff", "check", *folders, cwd=written)
    run(HERE / "ruff", "format", "--check", *folders, cwd=written)


@pytest.mark.parametrize("length", [1, 9, 15, 19, 20, 21, 30])
def test_they_are_formatted_whatever_the_length_of_the_name(length: int, tmp_path: Path) -> None:
    name = "orderdesk_of_a_big_store_in_town"[:length].rstrip("_")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        for kind in KINDS:
            result = CliRunner().invoke(new, ["plugin", name, "--kind", kind], obj=Startup())
            assert result.exit_code == 0, result.output
            folder_of(tmp_path, name).rename(tmp_path / f"{kind}")
    run(HERE / "ruff", "check", ".", cwd=tmp_path)
    run(HERE / "ruff", "format", "--check", ".", cwd=tmp_path)


def test_all_are_typed(made: Path) -> None:
    """With what mypy keeps of newel for the other programs that it checks."""
    packages = [argument for name in ALL for argument in ("-p", f"newel_{name}")]
    python = made / "venv" / "bin" / "python"
    options = ("--strict", "--namespace-packages", f"--cache-dir={MYPY_CACHE}", "--python-executable", python)
    run(python, "-m", "mypy", "--config-file=", *options, *packages, cwd=made)


def test_all_pass_their_own_tests(made: Path) -> None:
    assert failures(made) == {name: [] for name in ALL}


@pytest.mark.parametrize("kind", KINDS)
def test_it_builds(built: Path, kind: str) -> None:
    folder, package = folder_of(built, NAMES[kind]), f"newel_{NAMES[kind]}"
    (wheel,), (source,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    info = f"{package}-0.1.0.dist-info"
    assert {f"{package}/py.typed", f"{package}/plugin.py", f"{info}/licenses/LICENSE"} <= set(names)
    metadata = zipfile.ZipFile(wheel).read(f"{info}/METADATA").decode()
    assert "License-Expression: MIT" in metadata
    assert "Classifier: Typing :: Typed" in metadata
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {".github/workflows/test.yml", "LICENSE", "tests/test_plugin.py"} <= inside
    if find_spec("twine") is not None:
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, source, cwd=folder)
