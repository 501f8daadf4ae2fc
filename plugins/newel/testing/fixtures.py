"""A pytest plugin: fixtures for tests of agents and plugins. pytest loads it in every run, so it imports little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from newel.evaluation.runs.evaluation import EvaluationRun
    from newel.models.scripted import ScriptedModel
    from newel.testing.packages import FakePackages
    from newel_compose import Composition, Distribution


class Compose(Protocol):
    """`newel_compose.compose`."""

    def __call__(
        self,
        distribution: str | Path | Distribution | None = None,
        *,
        plugins: Sequence[object] = (),
        lock: Path | None = None,
    ) -> Composition: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the keys that turn files of eval sets into tests; without `eval_paths` there are no such tests."""
    parser.addini("eval_paths", "Folders and files whose *.evalset.json and *.test.json are tests.", "paths", [])
    parser.addini("eval_agent", "The agent of these tests: a module, a folder or a YAML file.", "string", "")
    parser.addini("eval_allow_effects", "Whether tools that declare an effect run in these tests.", "bool", False)
    parser.addini("eval_repeats", "How often each case runs, a test each.", "string", "1")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The eval set of a file below `eval_paths`."""
    paths = parent.config.getini("eval_paths")
    if not paths or not file_path.name.endswith((".evalset.json", ".test.json")):
        return None
    if not any(file_path == path or path in file_path.parents for path in paths):
        return None
    from newel.testing.eval_items import EvalFile  # noqa: PLC0415 - only runs with eval sets pay for it

    return EvalFile.from_parent(parent, path=file_path)


@pytest.fixture
def evaluate() -> Callable[..., EvaluationRun]:
    """Runs one case against an agent, and fails the test if it fails: ``evaluate(agent, case)``."""
    from newel.testing.eval_items import evaluate_case  # noqa: PLC0415 - as below

    return evaluate_case


@pytest.fixture
def composed() -> Compose:
    """Composes a distribution again: ``composed("adk", plugins=[...])``."""
    from newel_compose import compose  # noqa: PLC0415 - as above

    return compose


@pytest.fixture
def fake_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePackages]:
    """An empty folder of packages on `sys.path`; its `install` makes a distribution that looks installed.

    What was imported from it is forgotten when the test ends.
    """
    from newel.testing.packages import FakePackages  # noqa: PLC0415 - as above

    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    packages = FakePackages(folder)
    yield packages
    packages.forget()


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Makes models that follow a script: ``scripted_model(["hello"])``; each must be played out when the test ends."""
    from newel.models.scripted import ScriptedModel  # noqa: PLC0415 - as above

    models: list[ScriptedModel] = []

    def make(*args: Any, **fields: Any) -> ScriptedModel:
        models.append(ScriptedModel(*args, **fields))
        return models[-1]

    yield make
    for model in models:
        model.assert_done()
