"""The documentation is true: its Python runs, its distributions compose, its links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from newel.files import file_schema, read_document
from newel_compose import Distribution, compose
from newel_compose._internal import composer
from newel_kernel import LIFECYCLE, CompositionError, ConfigurationError

DOCS = Path(__file__).resolve().parents[1] / "docs"
FILES = {file.relative_to(DOCS).as_posix(): file for file in sorted(DOCS.rglob("*.md"))}
#: Pages that are written from the code: their examples run as doctests where they stand.
GENERATED = {name for name, file in FILES.items() if "build.py --reference`. -->" in file.read_text(encoding="utf-8")}
#: The page whose blocks are packages: tests/plugins/cli/test_skeletons.py installs them and runs their tests.
PACKAGES = "plugins/ten-plugins.md"
#: Variables that would choose another model or distribution.
ELSEWHERE = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "NEWEL_DISTRIBUTION")


class Block(NamedTuple):
    """A fenced block: what is in it, and the line (from 1) of the file where that starts."""

    language: str
    text: str
    line: int

    @property
    def path(self) -> str | None:
        """The file that the block shows, where its first line is a comment that says so."""
        found = re.match(r"# (\S+\.(?:py|toml|yaml))\n", self.text)
        return found[1] if found else None


def blocks(file: Path) -> list[Block]:
    text = file.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(one[1], one[2], text.count("\n", 0, one.start()) + 2) for one in found]


def with_blocks(language: str) -> list[str]:
    written = {name: file for name, file in FILES.items() if name not in GENERATED and name != PACKAGES}
    return [name for name, file in written.items() if any(block.language == language for block in blocks(file))]


def distributions(name: str) -> list[Block]:
    """The blocks of YAML that are no files of an app."""
    return [block for block in blocks(FILES[name]) if block.language == "yaml" and block.path is None]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder and an environment that choose nothing; modules imported from there are forgotten."""
    monkeypatch.chdir(tmp_path)
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHIPPING_KEY", "key-123")  # a page sets it as well; here it is taken away again
    monkeypatch.setenv("NEWEL_SERVER_TOKEN", "0123456789abcdef")
    monkeypatch.setattr(composer, "_composed", {})  # what was composed before knows nothing of a page's plugin
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write_files(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files that a page shows, and install the project among them, where there is one."""
    shown = {block.path: block.text for block in blocks(FILES[name]) if block.path is not None}
    for path, text in shown.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if "pyproject.toml" not in shown:
        return
    project = tomllib.loads(shown["pyproject.toml"])["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(groups)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.parametrize("name", with_blocks("python"))
def test_python_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The blocks of a page run in order in one namespace; then the tests that they define."""
    write_files(name, tmp_path, monkeypatch)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for block in blocks(FILES[name]):
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.text  # so that a traceback shows the line of the page
            exec(compile(padded, str(FILES[name]), "exec"), module.__dict__)
    for test in [value for key, value in vars(module).items() if key.startswith("test_")]:
        test(**{fixture: request.getfixturevalue(fixture) for fixture in inspect.signature(test).parameters})


@pytest.mark.parametrize("name", [name for name in with_blocks("yaml") if distributions(name)])
def test_distributions_compose(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(name, tmp_path, monkeypatch)
    for block in distributions(name):
        file = tmp_path / f"line_{block.line}.yaml"
        file.write_text(block.text, encoding="utf-8")
        composed = compose(file)
        assert set(composed.distribution.plugins) <= {p.name for p in composed.plugins if p.state != "available"}


@pytest.mark.parametrize("name", [name for name in with_blocks("yaml") if not distributions(name)])
def test_files_of_apps_fit_the_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(name, tmp_path, monkeypatch)
    validator = Draft202012Validator(file_schema(compose("standard")))
    for block in blocks(FILES[name]):
        if block.language == "yaml" and block.path is not None:
            validator.validate(read_document(tmp_path / block.path).data)


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", FILES[name].read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = [t for t in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if not t.startswith("http")]
    places = [(FILES[name].parent / target).resolve() for target in targets]
    # The pages of every public name are made with the site.
    assert not [
        place for place in places if not place.exists() and not place.is_relative_to(DOCS / "reference" / "api")
    ]


def anchors(file: Path) -> set[str]:
    """The anchors of a page's headings."""
    text = re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_code_cites_sections_that_exist() -> None:
    """A docstring or a comment that cites a section of a page names a heading that the page has."""
    root = DOCS.parent
    sources = [file for folder in ("kernel", "plugins", "contrib", "tests") for file in (root / folder).rglob("*.py")]
    cited = {
        (file.relative_to(root).as_posix(), *match)
        for file in sources
        for match in re.findall(r"\bdocs/([\w/-]+\.md)#([\w-]+)", file.read_text(encoding="utf-8"))
    }
    assert len(cited) > 40
    assert [one for one in sorted(cited) if one[1] not in FILES or one[2] not in anchors(FILES[one[1]])] == []


def test_every_lifecycle_hook_is_listed_with_its_keywords() -> None:
    listed = re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", FILES["plugins/write-a-plugin.md"].read_text(), re.MULTILINE)
    assert {name: tuple(keywords.split(", ")) for name, keywords in listed} == {
        name: spec.keywords for name, spec in LIFECYCLE.items()
    }


def test_every_key_of_a_distribution_is_explained() -> None:
    text = FILES["guides/compose-a-distribution.md"].read_text()
    unexplained = [key for key in Distribution.model_fields if key != "source" and not re.search(rf"\b{key}\b", text)]
    assert not unexplained


@pytest.mark.parametrize(
    "wrong",
    [
        "extends: adk\nrequest_chian: [basic]",
        "extends: adkk",
        "extends: adk\nplugins: [redakt]",
        "extends: minimal\nrequest_chain: [basic, contents, identty]",
        "extends: adk\nsettings: {function_tools: {validate: true}}",
    ],
)
def test_errors_read_as_the_table_shows(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(wrong)
    with pytest.raises(ConfigurationError) as caught:
        compose("mine.yaml")
    problems = caught.value.problems if isinstance(caught.value, CompositionError) else (str(caught.value),)
    table = re.findall(r"^\| ``(.*?)`` \|", FILES["guides/compose-a-distribution.md"].read_text(), re.MULTILINE)
    pieces = [[piece.strip() for piece in row.split("…")] for row in table]
    assert any(all(piece in problem for piece in row) for row in pieces for problem in problems), problems


def test_the_survivors_that_are_explained_are_in_functions_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parent / "tests" / "mutants"))
    reports = import_module("reports")
    text = FILES["explanation/mutants.md"].read_text(encoding="utf-8")
    explained = list(reports.explanations(text))
    assert len(explained) == len(re.findall(r"^\* ", text, re.MULTILINE))
    inside = DOCS.parent / "kernel" / "newel_kernel" / "_internal"
    missing = [
        f"{one.module}: {name}"
        for one in explained
        for name in one.functions
        if name not in functions(ast.parse((inside / f"{one.module}.py").read_text(encoding="utf-8")))
    ]
    assert missing == []


def functions(node: ast.AST, within: str = "") -> Iterator[str]:
    """The names of the functions in `node`, with their classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{child.name}"
        else:
            yield from functions(child, f"{within}{child.name}." if isinstance(child, ast.ClassDef) else within)
