"""Judges: rubrics, hallucinations, cloud metrics on any judge, simulated users."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.evaluation import EvalCase, EvalConfig, evaluate
from newel.evaluation.conversation_scenarios import ConversationScenario
from newel.evaluation.eval_metrics import EvalMetric
from newel.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from newel.evaluation.metrics.criteria import LlmAsAJudgeCriterion
from newel.evaluation.metrics.rubrics.rubric_answers import normalised, parse
from newel.evaluation.simulation.llm_backed_user_simulator import LlmBackedUserSimulatorConfig
from newel.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
    register_user_simulator,
)
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel_kernel import ConfigurationError, Event


def run(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(evaluate(*args, **kwargs))


def config(metric: str, judge: Any, **more: Any) -> EvalConfig:
    criterion = LlmAsAJudgeCriterion.model_validate({"threshold": 0.5, "judge_model_options": judge.options(), **more})
    return EvalConfig(criteria={metric: criterion})


@pytest.mark.parametrize(
    ("metric", "answer", "score"),
    [
        ("safety_v1", '{"reasoning": "fine", "verdict": "safe"}', 1.0),
        ("safety_v1", '{"verdict": "unsafe"}', 0.0),
        ("response_evaluation_score", '{"verdict": "4"}', 4.0),
        ("multi_turn_task_success_v1", '{"verdict": "yes"}', 1.0),
        ("multi_turn_tool_use_quality_v1", '{"verdict": "no"}', 0.0),
        ("multi_turn_trajectory_quality_v1", '{"verdict": "perhaps"}', None),
    ],
)
def test_metrics_of_the_cloud_run_on_any_judge(metric: str, answer: str, score: float | None, kit: Any) -> None:
    judge = kit.Judge(answer)
    done = run(kit.agent(), kit.eval_set(kit.case("a", kit.turn("hello", "hi there"))), config(metric, judge))
    assert done.results[0].overall_eval_metric_results[0].score == score
    assert "hi there" in judge.prompts[0]


@pytest.mark.parametrize(
    "text",
    [
        "Property: A.\nRationale: r\nVerdict: yes",
        "**Property:** A.\n**Rationale:** r\n**Verdict:** yes",
        "- Property: \u201cA.\u201d\n- Rationale: r\n- Verdict: Yes!",
    ],
)
def test_decorated_blocks_are_read(text: str) -> None:
    (one,) = parse(text)
    assert one.score == 1.0
    assert normalised(one.property_text or "") == normalised("a")


def scenario(**fields: Any) -> EvalCase:
    plan = ConversationScenario(starting_prompt="hello", conversation_plan="look x up", **fields)
    return EvalCase(eval_id="s", conversation_scenario=plan)


def test_a_simulated_user_talks_until_it_is_done(kit: Any) -> None:
    user = kit.Judge("look up x", "</finished>")
    settings = LlmBackedUserSimulatorConfig(model=user.address)
    done = run(kit.agent(), kit.eval_set(scenario()), EvalConfig(user_simulator_config=settings))
    said = [
        turn.actual_invocation.user_content.parts[0].text for turn in done.results[0].eval_metric_result_per_invocation
    ]
    assert said == ["hello", "look up x"]
    assert "helper: hi there" in user.prompts[0]
    assert done.units[0].accounts.of("user").calls == 2


def test_simulators_are_registered_by_their_config(kit: Any) -> None:
    class ShortConfig(BaseUserSimulatorConfig):
        type: str | None = "short"
        text: str = "hello"

    class Short(UserSimulator):
        config_type = ShortConfig

        def __init__(self, *, config: BaseUserSimulatorConfig, conversation_scenario: ConversationScenario) -> None:
            super().__init__(config)
            self.left = [ShortConfig.model_validate(config.model_dump()).text]

        async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
            if not self.left:
                return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
            return NextUserMessage(status=Status.SUCCESS, user_message=kit.content(self.left.pop(), "user"))

    register_user_simulator(ShortConfig, Short)
    chosen = EvalConfig.model_validate({"user_simulator_config": {"type": "short", "text": "look up x"}})
    assert isinstance(UserSimulatorProvider(chosen.user_simulator_config).provide(scenario()), Short)
    unknown = EvalConfig.model_validate({"user_simulator_config": {"type": "shrt"}})
    with pytest.raises(ConfigurationError, match="no plugin provides the simulated user 'shrt'"):
        UserSimulatorProvider(unknown.user_simulator_config).provide(scenario())


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("{stop_signal} {conversation_plan} {conversation_history}", True),
        ("{{ stop_signal }} {{conversation_plan}} {{ conversation_history }}", True),
        ("{{ stop_signal }} {conversation_plan} {conversation_history}", False),
    ],
)
def test_templates_of_both_kinds(text: str, fine: bool) -> None:
    if fine:
        assert LlmBackedUserSimulatorConfig(custom_instructions=text).custom_instructions == text
    else:
        with pytest.raises(ValueError, match="must have each of"):
            LlmBackedUserSimulatorConfig(custom_instructions=text)


@pytest.mark.parametrize(
    ("verdict", "score"),
    [
        *((text, 1.0) for text in ("yes", "Yes.", "**YES**", "yes, although it says no", "Yes it does", "It is: yes")),
        *((text, 0.0) for text in ("no", "**No.**", "no, although the user said yes", "No - yes was wrong", "'no'")),
        *((text, None) for text in ("unknown", "not applicable", "cannot say", "None", "N/A", "yes/no", "yes or no")),
        *((text, None) for text in ("noted", "no way to tell", "yesterday", "nothing", "", "eyes", "I do not know")),
    ],
)
def test_a_verdict_is_a_word(verdict: str, score: float | None) -> None:
    for block in ("{0}Property: p\n{0}Rationale: r\n{0}Verdict: {1}", "1. Property: p\nRationale: r\nverdict: {1}"):
        assert [one.score for one in parse(block.format("", verdict))] == [score]


@pytest.mark.parametrize("space", ["", " ", "\n"])
@pytest.mark.parametrize("form", ['"{}"', "'{}'", '"{}."', '["{}"]', "{}"])
@pytest.mark.parametrize(
    ("label", "score"), [("valid", 1.0), ("Valid", 1.0), ("INVALID", 0.0), ("partially-valid", 0.0)]
)
def test_a_label_is_read_whatever_is_around_it(label: str, score: float, form: str, space: str, kit: Any) -> None:
    answer = f'{{"reasoning": "r", "is_the_agent_response_valid"{space}:{space}{form.format(label)}}}'
    options = kit.Judge(answer).options(samples=1)
    metric = EvalMetric(
        metric_name="final_response_match_v2",
        criterion=LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=options),
    )
    turn = kit.turn("q", "a")
    assert FinalResponseMatchV2Evaluator(metric).read_answer(answer, turn, turn).score == score
