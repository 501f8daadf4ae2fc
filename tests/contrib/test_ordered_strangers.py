"""A stranger's wheel for each kind that has an order, placed and misplaced, installed by pip or found in any order.

The wheels are files as a build backend makes them: modules, and a `.dist-info` folder. A misplaced stage leaves its
plugin out with one line that names it; where a distribution names that plugin, it stops composition.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from newel.evaluation.plugins import evaluation_composition

_OWN = ("NEWEL_DISTRIBUTION", "PYTHONPATH")


class Ordered(NamedTuple):
    """How a stranger fills an order: the hook, a descriptor, and a stage of newel's that it may stand beside."""

    hook: str
    descriptor: str
    beside: str
    imports: str = ""


KERNEL, STEP = "newel_kernel", "run=nothing"
KINDS = {
    "request_chain": Ordered("request_processors", f"RequestProcessor({STEP}, %s)", "steering"),
    "response_chain": Ordered("response_processors", f"ResponseProcessor({STEP}, %s)", "planning"),
    "result_chain": Ordered("result_processors", f"ResultProcessor({STEP}, %s)", "confirmation"),
    "tool_chain": Ordered("tool_policies", "ToolPolicy(wrap=same, %s)", "tool_timeout"),
    "model_chain": Ordered(
        "model_call_policies",
        "ModelPolicy(response=nothing, %s)",
        "model_retries",
        "from newel.models.kinds import ModelPolicy",
    ),
    "tool_preparations": Ordered("tool_preparations", f"ToolPreparation({STEP}, %s)", "toolset_auth"),
    "prologues": Ordered("prologues", f"Prologue({STEP}, %s)", "pairing"),
    "epilogues": Ordered("epilogues", f"Epilogue({STEP}, %s)", "failure_events"),
    "observers": Ordered("observers", "Observer(notify=nothing, %s)", "telemetry"),
    "hook_policies": Ordered(
        "hook_policies", "HookPolicy(wrap=same, %s)", "hook_timeout", "from newel_compose import HookPolicy"
    ),
    "stage_policies": Ordered(
        "stage_policies", "StagePolicy(wrap=lambda one: one.stage, %s)", "", "from newel_compose import StagePolicy"
    ),
    "context_strategies": Ordered(
        "context_strategies",
        "ContextStrategy(shorten=nothing, %s)",
        "clear",
        "from newel.flows.context_budget.kinds import ContextStrategy",
    ),
    "live_out": Ordered("live_out", "LiveOut(make=nothing, %s)", "checks", "from newel.live.kinds import LiveOut"),
    "live_in": Ordered("live_in", "LiveIn(make=nothing, %s)", "screening", "from newel.live.kinds import LiveIn"),
    "model_providers": Ordered(
        "model_providers", "ModelProvider(create=same, %s)", "openai", "from newel.models.kinds import ModelProvider"
    ),
    "tool_adapters": Ordered(
        "tool_adapters",
        "ToolAdapter(accepts=nothing, adapt=same, %s)",
        "langchain",
        "from newel.tools.kinds import ToolAdapter",
    ),
    "auth_providers": Ordered(
        "auth_providers", "AuthProvider(create=dict, %s)", "", "from newel.auth.kinds import AuthProvider"
    ),
    "displays": Ordered("displays", "Display(create=dict, %s)", "notebook", "from newel.drawing import Display"),
    "price_tables": Ordered(
        "price_tables", "PriceTable(price=nothing, %s)", "", "from newel.evaluation.kinds import PriceTable"
    ),
    "case_sources": Ordered(
        "case_sources", "CaseSource(reads=nothing, cases=list, %s)", "", "from newel.evaluation.kinds import CaseSource"
    ),
}
#: Orders of kinds that only evaluations load.
EVALUATION = ("price_tables", "case_sources")
#: What is wrong with a misplaced stage -> its anchors, where `beside` is newel's stage and `first` another stranger's.
FAULTS = {
    "typo": "after=('{beside}x',)",
    "cycle": "after=('{beside}',), before=('{beside}',)",
    "letters": "after='{beside}'",
}


def wheel(folder: Path, name: str, order: str, stages: Iterable[str]) -> Path:
    """The wheel of one plugin, whose module registers stages of an order, each with a name and anchors."""
    kind = KINDS[order]
    items = ", ".join(kind.descriptor % stage for stage in stages)
    module = f"""
        from newel_kernel import *
        {kind.imports}

        def nothing(*args): ...

        def same(call, *rest): return call

        @hookimpl
        def register_{kind.hook}():
            return [{items}]
        """
    group = "newel.evaluation" if order in EVALUATION else "newel.plugins"
    info = f"stranger_{name}-1.0.dist-info"
    files = {
        f"stranger_{name}.py": dedent(module),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: stranger-{name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{group}]\n{name} = stranger_{name}\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"stranger_{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(member, text)
    return path


def placed(folder: Path, order: str) -> list[Path]:
    """Two wheels: one stage beside newel's, and one that is anchored to the former."""
    beside = KINDS[order].beside
    first = f"name='first', before=({beside!r},)" if beside else "name='first'"
    return [
        wheel(folder, f"first_{order}", order, [first]),
        wheel(folder, f"second_{order}", order, ["name='second', before=('first',)"]),
    ]


def misplaced(folder: Path, order: str) -> list[Path]:
    """A wheel for each fault."""
    beside = KINDS[order].beside or "first"
    return [
        wheel(folder, f"{fault}_{order}", order, [f"name={fault!r}, {anchors.format(beside=beside)}"])
        for fault, anchors in FAULTS.items()
    ]


SHOW = """
import json, sys
from newel.evaluation.plugins import evaluation_composition
composed = evaluation_composition(sys.argv[1])
print(json.dumps({order: [one.stage.name for one in placed] for order, placed in composed.placed.items()}))
"""


def orders(path: Sequence[Path], distribution: str = "standard") -> subprocess.CompletedProcess[str]:
    """What a new process composes with these folders on its path."""
    env = {name: value for name, value in os.environ.items() if name not in _OWN}
    env["PYTHONPATH"] = os.pathsep.join(map(str, path))
    command = [sys.executable, "-c", SHOW, distribution]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=path[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed all wheels."""
    folder = tmp_path_factory.mktemp("wheels")
    wheels = [path for order in KINDS for path in (*placed(folder, order), *misplaced(folder, order))]
    target = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), *map(str, wheels)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def outcome(site: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The orders of `standard` with all strangers, and the lines on stderr."""
    done = orders([site])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


def test_there_is_a_wheel_for_every_order() -> None:
    assert KINDS.keys() == evaluation_composition("standard").placed.keys()


@pytest.mark.parametrize("order", KINDS)
def test_what_is_placed_stands_in_its_place(order: str, outcome: Any) -> None:
    names = outcome[0][order]
    at = names.index("second")
    assert names[at : at + 2] == ["second", "first"]
    if beside := KINDS[order].beside:
        assert names[at + 2] == beside


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("order", KINDS)
def test_what_is_misplaced_is_left_out_with_one_line(order: str, fault: str, outcome: Any) -> None:
    names, lines = outcome
    assert fault not in names[order]
    (line,) = (line for line in lines if f"'{fault}_{order}'" in line)
    assert line.startswith(f"newel: plugin '{fault}_{order}' (stranger-{fault}_{order} 1.0) is left out: it")
    beside = KINDS[order].beside or "first"
    words = {
        "typo": f"its 'typo' is anchored to '{beside}x', which does not exist; did you mean '{beside}'?",
        "cycle": "it makes a contradictory order ",
        "letters": f"returned 'letters' with after='{beside}'; write after=('{beside}',)",
    }
    assert words[fault] in line


@pytest.mark.parametrize("order", ["epilogues", "live_in"])
def test_where_a_distribution_names_it_composition_stops(order: str, site: Path, tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(f"extends: adk\nplugins: [typo_{order}]\n", encoding="utf-8")
    done = orders([site], str(tmp_path / "house.yaml"))
    assert done.returncode != 0
    assert f"{order}: 'typo' (stranger-typo_{order} 1.0) is anchored to" in done.stderr.splitlines()[-1]


def test_however_they_are_found_the_orders_are_the_same(tmp_path: Path, outcome: Any) -> None:
    """Each wheel in a folder of its own, which stand on the path in several orders."""
    folders = []
    for order in KINDS:
        for path in (*placed(tmp_path, order), *misplaced(tmp_path, order)):
            folders.append(tmp_path / path.stem)
            zipfile.ZipFile(path).extractall(folders[-1])
    for seed in range(2):
        random.Random(seed).shuffle(folders)
        done = orders(folders)
        assert (json.loads(done.stdout), sorted(done.stderr.splitlines())) == (outcome[0], sorted(outcome[1]))
