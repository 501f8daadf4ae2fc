"""HallucinationsV1Evaluator: how many sentences of an answer rest on what the agent knew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation, InvocationEvents
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.llm_as_judge_utils import steps_of, tool_declarations
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.metrics.criteria import BaseCriterion, HallucinationsCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, mean, needed_criterion, paired, status_of, summarised, text_of

_SPLIT = """Split an agent's answer into its sentences.

{note}

The answer:
{answer}

Write every sentence, word for word and in order, as <sentence>...</sentence>, one a line, and nothing else. A list's
entry and a line of a table are sentences.
"""
_LABEL = """For each sentence of an agent's answer, decide whether the context supports it.

{note}

The context:
{context}

The sentences:
{sentences}

The labels: `supported`: the context says it, or it follows from it. `unsupported`: the context does not say it.
`contradictory`: the context says the opposite. `disputed`: the context says both. `not_applicable`: the sentence states
nothing, such as a greeting or a question.

Write one block for each sentence, in order, and nothing else:

sentence: the sentence, word for word
label: one of the labels
rationale: why, in one line
supporting_excerpt: the part of the context that supports it, or null
contradicting_excerpt: the part of the context that contradicts it, or null
"""
_SENTENCE = re.compile(r"<sentence>(.*?)</sentence>", re.DOTALL)
_LABEL_LINE = re.compile(r"(?im)^[ \t>*-]*label[*_]*[ \t]*:[ \t*_`\"']*([a-z_]+)")
_BLOCK = re.compile(r"(?im)^\W*(?:label|sentence)\W*:|<sentence>")
_SCORES = {"supported": 1.0, "not_applicable": 1.0, "unsupported": 0.0, "contradictory": 0.0, "disputed": 0.0}


@dataclass(frozen=True, slots=True)
class EvaluationStep:
    """An answer to check, and what the agent knew when it gave it."""

    context: str
    nl_response: str


class HallucinationsV1Evaluator(Evaluator):
    """`hallucinations_v1`: two calls of the judge for each answer, one that splits it and one that labels."""

    criterion_type: ClassVar[type[BaseCriterion]] = HallucinationsCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._criterion: Any = needed_criterion(eval_metric, HallucinationsCriterion)
        self._threshold = eval_metric.bar
        options = self._criterion.judge_model_options
        self._options = options
        #: One sample, unless the criterion sets another number.
        self._samples = options.num_samples if "num_samples" in options.model_fields_set else 1

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Check every turn."""
        turns = [await self._turn(a, e) for a, e in paired(actual_invocations, expected_invocations)]
        return summarised(turns, self._threshold)

    async def _turn(self, actual: Invocation, expected: Invocation | None) -> PerInvocationResult:
        scores: list[float] = []
        error = None
        for step in self._steps(actual):
            try:
                score = await self._step(step)
            except Exception as failure:  # noqa: BLE001 - a judge may be a plugin's; only this answer fails
                error = f"the judge failed: {type(failure).__name__}: {failure}"
                continue
            if score is not None:
                scores.append(score)
        score = mean(scores)
        return PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=score,
            eval_status=status_of(score, self._threshold),
            details=EvalMetricResultDetails(error=error) if error else None,
        )

    def _steps(self, actual: Invocation) -> Iterator[EvaluationStep]:
        context = _context(actual)
        if self._criterion.evaluate_intermediate_nl_responses and isinstance(
            actual.intermediate_data, InvocationEvents
        ):
            so_far = InvocationEvents()
            for event in actual.intermediate_data.invocation_events:
                before = f"{context}\n{steps_of(so_far)}"
                for part in event.content.parts or () if event.content is not None else ():
                    if part.text and not part.thought:
                        yield EvaluationStep(before, part.text)
                so_far = InvocationEvents(invocation_events=[*so_far.invocation_events, event])
        final = answer_of(actual)
        if final:
            yield EvaluationStep(f"{context}\n{steps_of(actual.intermediate_data)}", final)

    async def _step(self, step: EvaluationStep) -> float | None:
        """The mean over the samples of the share of sentences that rest on the context."""
        scores = [await self._sample(step, judge, n) for judge in self._options.judges for n in range(self._samples)]
        return mean(score for score in scores if score is not None)

    async def _sample(self, step: EvaluationStep, judge: str, sample: int) -> float | None:
        fence = Fence(step.context, step.nl_response)
        split = await self._ask(judge, _SPLIT.format(note=fence.note, answer=fence.around(step.nl_response)), sample)
        sentences = _SENTENCE.findall(split)
        if not sentences:
            return None
        listing = "\n".join(f"<sentence>{sentence}</sentence>" for sentence in sentences)
        text = _LABEL.format(note=fence.note, context=fence.around(step.context), sentences=fence.around(listing))
        answer = fence.without_echo(await self._ask(judge, text, sample), _BLOCK)
        labels = (_SCORES.get(label.lower()) for label in _LABEL_LINE.findall(answer))
        return mean(score for score in labels if score is not None)

    async def _ask(self, judge: str, text: str, sample: int) -> str:
        return answer_text(await ask(judge, prompt(text), self._options.judge_model_config, sample=sample))


def _context(actual: Invocation) -> str:
    agents = actual.app_details.agent_details if actual.app_details is not None else {}
    instructions = "\n".join(f"{name}: {agent.instructions}" for name, agent in agents.items())
    tools = json.dumps(tool_declarations(actual.app_details), ensure_ascii=False, indent=1)
    return f"Instructions:\n{instructions}\nTools:\n{tools}\nThe user asked:\n{text_of(actual.user_content)}\nEvents:"
