"""AgentEvaluator: eval sets as tests. A thin layer over `evaluate`: it finds the agent, and asserts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from newel.artifacts.base_artifact_service import BaseArtifactService
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.cases.loose_shapes import reshaped
from newel.evaluation.cases.older_shapes import (
    check_older_data,
    convert_eval_set_to_pydantic_schema,
    is_older,
    load_json,
    older_cases,
)
from newel.evaluation.inference.case_inference import Stores
from newel.evaluation.metrics.eval_config import EvalConfig, get_evaluation_criteria_or_default
from newel.evaluation.metrics.eval_metrics import PrebuiltMetrics
from newel.evaluation.results.detail_tables import print_details, write_csv
from newel.evaluation.results.metric_means import failure_lines, metric_means
from newel.evaluation.runs.agent_modules import agent_of_module, folder_of_module
from newel.evaluation.runs.evaluation import evaluate
from newel.evaluation.runs.options import RunOptions
from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager
from newel.evaluation.storage.files import write_whole
from newel.evaluation.storage.local_eval_sets_manager import dump_eval_set, load_eval_set_from_file
from newel_kernel import ConfigurationError, seam

NUM_RUNS = 2
TOOL_TRAJECTORY_SCORE_KEY = PrebuiltMetrics.TOOL_TRAJECTORY_AVG_SCORE.value
RESPONSE_EVALUATION_SCORE_KEY = PrebuiltMetrics.RESPONSE_EVALUATION_SCORE.value
RESPONSE_MATCH_SCORE_KEY = PrebuiltMetrics.RESPONSE_MATCH_SCORE.value
SAFETY_V1_KEY = PrebuiltMetrics.SAFETY_V1.value
ALLOWED_CRITERIA = [TOOL_TRAJECTORY_SCORE_KEY, RESPONSE_EVALUATION_SCORE_KEY, RESPONSE_MATCH_SCORE_KEY, SAFETY_V1_KEY]
_CONFIG = "test_config.json"
_TEST = ".test.json"

__all__ = ["ALLOWED_CRITERIA", "NUM_RUNS", "AgentEvaluator", "load_json"]


class AgentEvaluator:
    """Evaluates an agent in a test; an AssertionError says which metrics of which cases failed."""

    @staticmethod
    def find_config_for_test_file(test_file: str) -> EvalConfig:
        """The `test_config.json` next to a file, or the default."""
        return get_evaluation_criteria_or_default(str(Path(test_file).parent / _CONFIG))

    @staticmethod
    async def evaluate(
        agent_module: str,
        eval_dataset_file_path_or_dir: str,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        initial_session_file: str | None = None,
        print_detailed_results: bool = True,
        **more: Any,
    ) -> None:
        """Evaluate a test file, or all `*.test.json` below a folder one after the other.

        `more` goes to `evaluate_eval_set`.
        """
        files = _test_files(Path(eval_dataset_file_path_or_dir))
        session = _initial_session(initial_session_file)
        for file in files:
            config = AgentEvaluator.find_config_for_test_file(str(file))
            await AgentEvaluator.evaluate_eval_set(
                agent_module=agent_module,
                eval_set=_load_test_file(str(file), config, session),
                eval_config=config,
                num_runs=num_runs,
                agent_name=agent_name,
                print_detailed_results=print_detailed_results,
                **more,
            )

    @staticmethod
    async def evaluate_eval_set(
        agent_module: str,
        eval_set: EvalSet,
        criteria: dict[str, float] | None = None,
        eval_config: EvalConfig | None = None,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        print_detailed_results: bool = True,
        artifact_service: BaseArtifactService | None = None,
        output_file: str | None = None,
        app_name: str | None = None,
        eval_set_results_manager: EvalSetResultsManager | None = None,
        allow_effects: bool = False,
    ) -> None:
        """Evaluate a set `num_runs` times; the mean over all turns of all runs of a case counts.

        `criteria` is an older way to pass the config. Tools that declare an effect run only with `allow_effects`.
        """
        config = _checked(eval_set, num_runs, criteria, eval_config)
        run = await evaluate(
            await agent_of_module(agent_module, agent_name),
            eval_set,
            config,
            app_name=app_name or "test_app",
            options=RunOptions(repeats=num_runs, allow_effects=allow_effects),
            stores=Stores(artifact=artifact_service),
            folder=folder_of_module(agent_module),
        )
        if eval_set_results_manager is not None:
            eval_set_results_manager.save_eval_set_result(run.app_name, eval_set.eval_set_id, run.results)
        means = metric_means(run.units, list(config.criteria))
        if print_detailed_results:
            print_details(means)
        if output_file is not None:
            write_csv(Path(output_file), means)
        failures = failure_lines(run.units, means, agent_module)
        assert not failures, _message(failures, print_detailed_results)

    @staticmethod
    def migrate_eval_data_to_new_schema(
        old_eval_data_file: str, new_eval_data_file: str, initial_session_file: str | None = None
    ) -> None:
        """Convert an older test file to the current format."""
        if not old_eval_data_file or not new_eval_data_file:
            raise ValueError("both files must be named, the old one and the new one")
        config = AgentEvaluator.find_config_for_test_file(old_eval_data_file)
        eval_set = _older_set(old_eval_data_file, config, _initial_session(initial_session_file))
        write_whole(Path(new_eval_data_file), dump_eval_set(eval_set))


def _checked(
    eval_set: EvalSet, num_runs: int, criteria: dict[str, float] | None, config: EvalConfig | None
) -> EvalConfig:
    if num_runs < 1:
        raise ValueError(f"num_runs is {num_runs}; a case must run at least once")
    if not eval_set.eval_cases:
        raise ValueError(f"the eval set {eval_set.eval_set_id!r} has no cases")
    eval_config = EvalConfig.model_validate({"criteria": criteria}) if criteria else config
    if eval_config is None:
        raise ValueError("`eval_config` is needed")
    return eval_config


def _message(failures: list[str], with_details: bool) -> str:
    text = "\n".join(failures)
    hint = "" if with_details else "\nFor the turns behind these numbers set `print_detailed_results` to True."
    return f"Following are all the test failures.{hint}\n{text}"


def _test_files(path: Path) -> list[Path]:
    files = sorted(path.rglob(f"*{_TEST}")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"there is no *{_TEST} below {path}")
    return files


def _initial_session(file: str | None) -> dict[str, Any]:
    if not file:
        return {}
    data = load_json(file)
    if not isinstance(data, dict):
        raise ConfigurationError(f"{file} is not a session: it must be an object with app_name, user_id and state")
    return data


def _load_test_file(file: str, config: EvalConfig, session: dict[str, Any]) -> EvalSet:
    if not is_older(reshaped(load_json(file), file)):
        assert not session, f"{file}: an initial session file is for the older format; put it into `session_input`"
        return load_eval_set_from_file(file, file)
    return _older_set(file, config, session)


def _older_set(file: str, config: EvalConfig, session: dict[str, Any]) -> EvalSet:
    found = load_json(file)
    data = reshaped(found, file)
    if not is_older(data):
        if data is not found and not session:  # a set that lacks only what is around its cases
            return load_eval_set_from_file(file, file)
        raise ConfigurationError(f"{file} is not a file of the older format, which is a list of cases or of turns")
    cases = older_cases(data, file, session)
    turns: list[Any] = next((one["data"] for one in cases.values() if isinstance(one, dict) and "data" in one), [])
    check_older_data(turns, list(config.criteria), file)
    return convert_eval_set_to_pydantic_schema(seam.new_id() if "" in cases else file, list(cases.values()))
