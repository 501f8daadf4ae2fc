"""The evaluation section of the specification: its names, its configuration and its cases, as they are printed."""

from __future__ import annotations

import asyncio
import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from newel.evaluation import EvalConfig, evaluate
from newel.evaluation.eval_metrics import EvalMetric, PrebuiltMetrics
from newel.evaluation.local_eval_sets_manager import load_eval_set_from_file
from newel.evaluation.metrics.criteria import BaseCriterion
from newel_kernel import ConfigurationError

PRINTED = """
class PrebuiltMetrics(Enum):
    TOOL_TRAJECTORY_AVG_SCORE = "tool_trajectory_score"
    RESPONSE_EVALUATION_SCORE = "response_evaluation_score"
    RESPONSE_MATCH_SCORE = "response_match_score"
    SAFETY_V1 = "safety_score"
"""


def test_the_printed_metrics_are_the_released_ones() -> None:
    names: dict[str, Any] = {"Enum": Enum}
    exec(PRINTED, names)
    for printed in names["PrebuiltMetrics"]:
        ours = PrebuiltMetrics[printed.name]
        assert PrebuiltMetrics(printed.value) is ours
        assert EvalMetric(metric_name=printed.value).metric_name == ours.value
        assert list(EvalConfig(criteria={printed.value: BaseCriterion(threshold=0.5)}).criteria) == [ours.value]
    with pytest.raises(ValueError, match="nothing of the kind"):
        PrebuiltMetrics("nothing of the kind")


@pytest.mark.parametrize("as_text", [False, True])
def test_the_printed_flow_runs(as_text: bool, kit: Any, tmp_path: Path) -> None:
    uses: Any = [{"tool_name": "find", "tool_input": {"q": "x"}}]
    turn = {
        "query": "look up x",
        "reference": "x is a letter",
        "expected_tool_use": json.dumps(uses) if as_text else uses,
    }
    file = tmp_path / "cases.test.json"
    file.write_text(json.dumps([{"name": "one", "data": [turn, {"query": "hello", "reference": "hi there"}]}]))
    judge = kit.Judge('{"verdict": "safe"}')
    options = {"judge_model": judge.address, "num_samples": 1}
    config = EvalConfig(
        criteria={
            "tool_trajectory_score": BaseCriterion(threshold=1.0),
            "response_match_score": BaseCriterion(threshold=0.8),
            "safety_score": {"threshold": 1.0, "judge_model_options": options},
        }
    )
    run = asyncio.run(evaluate(kit.agent(), load_eval_set_from_file(file, "cases"), config))
    assert run.passed
    scored = {one.metric_name: one.score for one in run.results[0].overall_eval_metric_results[:3]}
    assert scored == {"tool_trajectory_avg_score": 1.0, "response_match_score": 1.0, "safety_v1": 1.0}


def test_expected_calls_in_words_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "cases.test.json"
    file.write_text(json.dumps([{"name": "one", "data": [{"query": "q", "expected_tool_use": "it should find"}]}]))
    with pytest.raises(ConfigurationError, match=r"cases\[0\]\.data\[0\]\.expected_tool_use is a list of objects"):
        load_eval_set_from_file(file, "cases")
