"""The engine: runs the units of a plan, judges them, and keeps what is finished."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path
from typing import Any

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.constants import SESSION_PREFIX
from newel.evaluation.inference.bounded_concurrency import as_done
from newel.evaluation.inference.case_inference import DEFAULT_USER, infer_case
from newel.evaluation.inference.turn_recording import kept_spans
from newel.evaluation.judges.model_calls import agent_gate, chains, gate
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalStatus
from newel.evaluation.metrics.evaluator import EvaluationResult
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.runs.accounts import Accounts, accounts, count_agent
from newel.evaluation.runs.budget_accounts import BudgetAccounts, open_accounts
from newel.evaluation.runs.cassettes import Cassette
from newel.evaluation.runs.gates import JudgeGate, UnitGate
from newel.evaluation.runs.ids import derived_id, ids_of, repeatable_ids
from newel.evaluation.runs.limits import Limits
from newel.evaluation.runs.plan import Plan
from newel.evaluation.runs.run_file import RunFile, RunFileError
from newel.evaluation.runs.stored import stored_inferences
from newel.evaluation.runs.units import Unit, UnitResult, outcome_of, units_of
from newel.evaluation.service.base_eval_service import InferenceResult, InferenceStatus
from newel.evaluation.service.case_metrics import judge_case
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel_kernel import ConfigurationError, seam


class Engine:
    """One run. `stream` yields each unit when it is finished and durable; `stopped` says why it ended early."""

    def __init__(self, plan: Plan) -> None:
        plan.check()
        self.plan = plan
        self.created = seam.clock()
        self.run_id = f"{plan.app_name}_{self.created}".replace("/", "_")
        self.file: RunFile | None = None
        self.stopped: str | None = None
        options = plan.options
        self._limits = Limits(options.rate_limits)
        #: Limits what runs at once across all cases: agents' conversations, and judges' calls, each sample counted.
        self._slots = asyncio.Semaphore(options.parallelism)
        self._cassette = _cassette(plan)
        self._simulators = plan.simulators or UserSimulatorProvider(plan.config.user_simulator_config)
        self._reused = stored_inferences(plan.reuse) if plan.reuse is not None else None
        self._used = Accounts()
        #: The accounts of the distribution's budgets, while the run goes on; None: it has no limits.
        self._accounts: BudgetAccounts | None = None
        self._began = seam.monotonic()
        if plan.run_file is not None:
            self._open(plan.run_file)

    def _open(self, path: Path) -> None:
        header = self.plan.header(self.run_id, self.created)
        self.file = RunFile(path, header, self.plan.resume)
        if self.plan.resume:
            before = self.file.header
            if before["sets"] != header["sets"] or before["metrics"] != header["metrics"]:
                self.file.close()
                raise ConfigurationError(
                    f"{path} is a run of other cases or metrics; give the sets and the config that it was started "
                    f"with, or start a new run"
                )
            self.run_id, self.created = before["run_id"], before["created"]

    async def stream(self) -> AsyncGenerator[UnitResult, None]:
        """Run every unit that has no result yet."""
        finished = self.file.results if self.file is not None else {}
        units = (unit for unit in units_of(self.plan.sets, self.plan.options) if unit.key not in finished)
        with repeatable_ids():
            try:
                self._accounts = open_accounts(self.plan.stage.composition)
                running = as_done(self._affordable(units), self._unit, self.plan.options.parallelism)
                async with aclosing(running) as results:
                    async for result in results:
                        yield result
            finally:
                if self._accounts is not None:
                    await self._accounts.close()

    def _affordable(self, units: Iterator[Unit]) -> Iterator[Unit]:
        for unit in units:
            self.stopped = self._over_budget()
            if self.stopped is not None:
                return
            yield unit

    def _over_budget(self) -> str | None:
        budget, used = self.plan.options.budget, self._used
        if budget.max_cost is not None and (used.cost or 0.0) >= budget.max_cost:
            return f"the budget of {budget.max_cost} US dollars is used up"
        if budget.max_tokens is not None and used.tokens >= budget.max_tokens:
            return f"the budget of {budget.max_tokens} tokens is used up"
        if budget.max_seconds is not None and seam.monotonic() - self._began >= budget.max_seconds:
            return f"the budget of {budget.max_seconds} seconds is used up"
        return None

    async def _unit(self, unit: Unit) -> UnitResult:
        usage = Accounts()
        if unit.case.skip:
            result = _empty(unit, EvalStatus.NOT_EVALUATED, _reason(unit.case.skip))
        else:
            with self._surroundings(unit, usage):
                result = await self._result(unit, usage)
        result.repeat = unit.repeat
        for role, one in usage.roles.items():
            total = self._used.of(role)
            total.input_tokens += one.tokens
            total.cost = (total.cost or 0.0) + one.cost if one.cost is not None else total.cost
        requested = self.plan.requested(unit.eval_set)
        outcome = outcome_of(unit.case, result, requested)
        tags = tuple(dict.fromkeys((*unit.eval_set.tags, *unit.case.tags)))
        done = UnitResult(unit.key, outcome, result, usage, tags, unit.case.human_label)
        if self.file is not None:
            self.file.keep_result(done)
        return done

    @contextmanager
    def _surroundings(self, unit: Unit, usage: Accounts) -> Iterator[None]:
        """Ids, gates and accounts of a unit."""
        options = self.plan.options
        own = UnitGate(unit.case, unit.repeat, self._limits, self._cassette, options.allow_effects)
        with ExitStack() as stack:
            stack.enter_context(ids_of(self.run_id, *unit.key))
            for variable, value in (
                (gate, JudgeGate(self._limits, self._cassette, unit.repeat, self._slots)),
                (agent_gate, own),
                (accounts, usage),
                (kept_spans, usage.spans),
                (chains, self.plan.stage.composition),
            ):
                stack.callback(variable.reset, variable.set(value))  # type: ignore[arg-type]
            if self._accounts is not None:
                stack.enter_context(self._accounts.of(unit, self.run_id))
            yield

    async def _result(self, unit: Unit, usage: Accounts) -> EvalCaseResult:
        try:
            async with asyncio.timeout(self.plan.options.case_timeout):
                inference = await self._inference(unit)
                count_agent(inference, usage)
                return await judge_case(
                    unit.case, inference, self.plan.metrics(unit.eval_set), self.plan.registry, _Memo(self.file, unit)
                )
        except TimeoutError:
            return _empty(
                unit, EvalStatus.NOT_EVALUATED, f"the case took longer than {self.plan.options.case_timeout} seconds"
            )
        except RunFileError:
            raise
        except Exception as error:  # noqa: BLE001 - agent, tools and metrics are foreign code; only this case fails
            return _empty(unit, EvalStatus.NOT_EVALUATED, f"{type(error).__name__}: {error}")

    async def _inference(self, unit: Unit) -> InferenceResult:
        if self._reused is not None:
            return self._reused.of(unit.key)
        if self.file is not None and (before := self.file.inference(unit.key)) is not None:
            return before
        session_id = f"{SESSION_PREFIX}{derived_id(self.run_id, *unit.key)}"
        simulator = self._simulators.provide(unit.case)
        request = (self.plan.app_name, unit.eval_set.eval_set_id)
        async with self._slots:
            inference = await infer_case(
                self.plan.stage, request, unit.case, simulator, session_id, self.plan.live_seconds
            )
        if self.file is not None and inference.status is InferenceStatus.SUCCESS:
            self.file.keep_inference(unit.key, inference)
        return inference


class _Memo:
    """The metrics of a unit that were computed before its run was cut short."""

    def __init__(self, file: RunFile | None, unit: Unit) -> None:
        self._file, self._unit = file, unit

    def find(self, metric: EvalMetric, turns: list[Invocation]) -> EvaluationResult | None:
        return self._file.metric(self._unit.key, metric.metric_name, turns) if self._file is not None else None

    def keep(self, metric: EvalMetric, evaluation: EvaluationResult) -> None:
        if self._file is not None:
            self._file.keep_metric(self._unit.key, metric.metric_name, evaluation)


def _cassette(plan: Plan) -> Cassette | None:
    mode, path = plan.options.cassette, plan.options.cassette_file
    if mode is None:
        return None
    if path is None:
        raise ConfigurationError(f"--cassette {mode} needs a file: name it with --cassette-file")
    return Cassette(Path(path), mode)


def _reason(skip: str | bool) -> str:
    return skip if isinstance(skip, str) else "skipped"


def _empty(unit: Unit, status: EvalStatus, error: str) -> EvalCaseResult:
    set_id = unit.eval_set.eval_set_id
    fields: dict[str, Any] = {"overall_eval_metric_results": [], "eval_metric_result_per_invocation": []}
    return EvalCaseResult(
        eval_set_file=set_id,
        eval_set_id=set_id,
        eval_id=unit.case.eval_id,
        final_eval_status=status,
        session_id="",
        user_id=DEFAULT_USER,
        error_message=error,
        **fields,
    )
