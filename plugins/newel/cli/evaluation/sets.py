"""Eval sets as a command line names them: files, or ids in the agent's folder, each with chosen cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.kinds import CaseSource, EvalStorage
from newel.evaluation.plugins import plugin_registry
from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager
from newel.evaluation.storage.files import read_text
from newel.evaluation.storage.local_eval_set_results_manager import HISTORY
from newel.evaluation.storage.local_eval_sets_manager import LocalEvalSetsManager, load_eval_set_from_file
from newel.files.agent_source import AgentSource, load_source
from newel_compose import Composition
from newel_kernel import ConfigurationError, FeatureUnavailableError, did_you_mean

Storage = tuple[EvalSetsManager, EvalSetResultsManager]
RUNS = HISTORY.parent / "eval_runs"


@dataclass(frozen=True, slots=True)
class Subject:
    """An agent with its name and the folder of its sets and results."""

    source: AgentSource
    name: str
    folder: Path

    @property
    def history(self) -> Path:
        """Where its results are kept."""
        return self.folder / HISTORY

    @property
    def runs(self) -> Path:
        """Where its run files are kept: not among the results, because other tools expect only results there."""
        return self.folder / RUNS

    @property
    def searches(self) -> Path:
        """Where searches for a better instruction keep their state."""
        return self.folder / HISTORY.parent / "optimize_runs"


def subject_of(reference: str, composition: Composition) -> Subject:
    """The agent of the AGENT argument."""
    source = load_source(reference, composition)
    path = Path(reference)
    if path.is_dir():
        return Subject(source, path.resolve().name, path.resolve())
    if path.is_file():
        return Subject(source, path.resolve().parent.name, path.resolve().parent)
    return Subject(source, source.agent.name, Path.cwd())


def storage_of(uri: str | None) -> Storage | None:
    """The storage of sets and results at `uri`; None: files in the agent's folder."""
    if uri is None:
        return None
    scheme, colon, _ = uri.partition(":")
    storages = {one.name: one for one in plugin_registry().all(EvalStorage)}
    if not colon or scheme not in storages:
        raise FeatureUnavailableError(
            f"no plugin provides the storage {uri!r} of eval sets (there are: "
            f"{', '.join(f'{name}:' for name in sorted(storages)) or 'none'})"
        )
    return storages[scheme].open(uri)


def sets_of(subject: Subject, arguments: Sequence[str], sets_manager: EvalSetsManager | None = None) -> list[EvalSet]:
    """The sets that the arguments name, with the cases they choose; without any, all sets in the agent's folder."""
    manager = sets_manager or LocalEvalSetsManager(subject.folder.parent)
    if not arguments:
        arguments = manager.list_eval_sets(subject.folder.name)
        if not arguments:
            where = "the storage" if sets_manager is not None else str(subject.folder)
            raise click.ClickException(f"{where} has no *.evalset.json; name a file or create a set")
    pairs = [_split(argument) for argument in arguments]
    if Path(pairs[0][0]).is_file():
        return [_with_cases(_from_file(name), cases) for name, cases in pairs]
    return [_with_cases(_from_folder(manager, subject, name), cases) for name, cases in pairs]


def _split(argument: str) -> tuple[str, list[str]]:
    if Path(argument).is_file():
        return argument, []
    name, colon, cases = argument.rpartition(":")
    return (name, cases.split(",")) if colon and name else (argument, [])


def _from_file(name: str) -> EvalSet:
    path = Path(name)
    if not path.is_file():
        raise click.ClickException(f"there is no file {name}; give files or ids of sets, not both")
    if path.suffix != ".json" or not path.name.endswith((".evalset.json", ".test.json")):
        foreign = _of_another_format(path)
        if foreign is not None:
            return foreign
        if path.suffix != ".json":
            raise ConfigurationError(
                f"{name} is not an *.evalset.json, and no installed plugin reads it; `pip install newel-importers` "
                f"brings readers of pydantic-evals, openai-evals and promptfoo"
            )
    return load_eval_set_from_file(path, path.name.removesuffix(".json").removesuffix(".test").removesuffix(".evalset"))


def is_foreign(argument: str) -> bool:
    """Whether the argument names a file in another tool's format; then its cases hold their own criteria."""
    path = Path(_split(argument)[0])
    own = path.name.endswith((".evalset.json", ".test.json"))
    return path.is_file() and not own and _of_another_format(path) is not None


def _of_another_format(path: Path) -> EvalSet | None:
    text = read_text(path)
    for source in plugin_registry().all(CaseSource):
        if source.reads(path.name, text):
            return EvalSet(eval_set_id=path.stem, eval_cases=list(source.cases(path.name, text)))
    return None


def _from_folder(manager: EvalSetsManager, subject: Subject, set_id: str) -> EvalSet:
    try:
        eval_set = manager.get_eval_set(subject.folder.name, set_id)
    except ConfigurationError:  # the file exists, but is wrong
        raise
    except ValueError as error:
        raise click.ClickException(f"there is neither a file nor an eval set {set_id!r}: {error}") from error
    if eval_set is None:
        ids = manager.list_eval_sets(subject.folder.name)
        raise click.ClickException(
            f"there is neither a file {set_id} nor an eval set of that id in {_place(manager, subject)}"
            f"{did_you_mean(set_id, ids)}"
        )
    return eval_set


def _place(manager: EvalSetsManager, subject: Subject) -> str:
    return str(subject.folder) if isinstance(manager, LocalEvalSetsManager) else "the storage"


def _with_cases(eval_set: EvalSet, cases: list[str]) -> EvalSet:
    if not cases:
        return eval_set
    ids = [case.eval_id for case in eval_set.eval_cases]
    missing = [case for case in cases if case not in ids]
    if missing:
        raise click.ClickException(
            f"the eval set {eval_set.eval_set_id!r} has no case {missing[0]!r}{did_you_mean(missing[0], ids)}"
        )
    return eval_set.model_copy(update={"eval_cases": [c for c in eval_set.eval_cases if c.eval_id in cases]})
