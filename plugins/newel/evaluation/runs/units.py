"""Units of a run: a case and a repeat, and the result of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.metrics.eval_metrics import EvalMetricResult, EvalMetricResultDetails, EvalStatus, canonical_name
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.runs.accounts import Accounts
from newel.evaluation.runs.options import RunOptions

PASSED, FAILED, ERROR, SKIPPED = "passed", "failed", "error", "skipped"
#: Failed as expected, and passed although a failure is expected.
XFAILED, XPASSED = "xfailed", "xpassed"
Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """A case and the number of its repeat."""

    eval_set: EvalSet
    case: EvalCase
    repeat: int

    @property
    def key(self) -> Key:
        """Set, case and repeat."""
        return self.eval_set.eval_set_id, self.case.eval_id, self.repeat


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit."""

    key: Key
    outcome: str
    result: EvalCaseResult
    accounts: Accounts
    tags: tuple[str, ...] = ()
    #: People's verdicts on it, by metric.
    labels: dict[str, bool] = field(default_factory=dict)


def slim(unit: UnitResult) -> UnitResult:
    """`unit` with what summaries and statuses need, without turns and session: the run file has those."""
    whole, accounts = unit.result, unit.accounts
    judged = [
        _shared(one.metric_name, one.threshold, one.score, one.eval_status) if one.details == _NOTHING else one
        for one in whole.overall_eval_metric_results
        if one.eval_status is not EvalStatus.INFORMATIONAL
    ]
    result = EvalCaseResult.model_construct(
        set(),
        eval_set_id=whole.eval_set_id,
        eval_id=whole.eval_id,
        final_eval_status=whole.final_eval_status,
        overall_eval_metric_results=judged,
        eval_metric_result_per_invocation=[],
        session_id=whole.session_id,
        user_id=whole.user_id,
        error_message=whole.error_message,
        repeat=whole.repeat,
    )
    usage = Accounts.model_construct(
        set(), roles=accounts.roles, seconds=accounts.seconds, tool_seconds=accounts.tool_seconds, spans=[]
    )
    return replace(unit, result=result, accounts=usage)


_NOTHING = EvalMetricResultDetails()


@lru_cache(maxsize=1024)
def _shared(name: str, threshold: float | None, score: float | None, status: EvalStatus) -> EvalMetricResult:
    """One shared object for all cases with the same result of a metric."""
    return EvalMetricResult.model_construct(
        set(), metric_name=name, threshold=threshold, score=score, eval_status=status, details=_NOTHING
    )


def units_of(sets: Iterable[EvalSet], options: RunOptions) -> Iterator[Unit]:
    """The units of a run, in file order."""
    for eval_set in sets:
        for case in eval_set.eval_cases:
            if options.chooses(case, eval_set.tags):
                for repeat in range(1 if case.skip else case.repeats or options.repeats):
                    yield Unit(eval_set, case, repeat)


def outcome_of(case: EvalCase, result: EvalCaseResult, requested: Sequence[str]) -> str:
    """The outcome of a result; `requested` are the metrics that had to be computed."""
    if case.skip:
        return SKIPPED
    own = [canonical_name(name) for criteria in (case.criteria, *case.turn_criteria.values()) for name in criteria]
    outcome = _plain_outcome(result, [*requested, *own])
    if case.xfail and outcome in (PASSED, FAILED):
        return XFAILED if outcome == FAILED else XPASSED
    return outcome


def _plain_outcome(result: EvalCaseResult, requested: Sequence[str]) -> str:
    if result.final_eval_status is EvalStatus.FAILED:
        return FAILED
    missing = [
        one.metric_name
        for one in result.overall_eval_metric_results
        if one.eval_status is EvalStatus.NOT_EVALUATED and one.metric_name in requested
    ]
    if missing or result.final_eval_status is EvalStatus.NOT_EVALUATED:
        return PASSED if not requested and not missing and result.error_message is None else ERROR
    return PASSED
