"""GEPARootAgentPromptOptimizer: the library gepa searches for a better instruction of the root agent."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from importlib import import_module
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from newel.agents.llm_agent import LlmAgent
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.model_calls import ask, prompt
from newel.models import catalogue
from newel.optimization.agent_optimizer import AgentOptimizer
from newel.optimization.data_types import AgentWithScores, OptimizerResult, UnstructuredSamplingResult
from newel.optimization.sampler import ExampleSet, Sampler
from newel.optimization.simple_prompt_optimizer import with_static_instruction
from newel_kernel import BaseAgent, FeatureUnavailableError, seam
from newel_types import GenerateContentConfig, ThinkingConfig

T = TypeVar("T")
#: gepa's name for the one text that is optimised.
_TEXT = "agent_prompt"
_log = logging.getLogger(__name__)


def _thinking() -> GenerateContentConfig:
    return GenerateContentConfig(thinking_config=ThinkingConfig(include_thoughts=True, thinking_budget=10240))


class GEPARootAgentPromptOptimizerConfig(BaseModel):
    """Which model reflects, and how long the search goes on. `optimizer_model` is an address, as an agent's is."""

    model_config = ConfigDict(extra="forbid")

    optimizer_model: str = catalogue.GEMINI
    model_configuration: GenerateContentConfig = Field(default_factory=_thinking)
    #: The most examples that are evaluated, over all candidates.
    max_metric_calls: int = Field(default=100, ge=1)
    #: Examples that the model looks at for a proposal.
    reflection_minibatch_size: int = Field(default=3, ge=1)
    #: Where gepa keeps its state; a search continues from there.
    run_dir: str | None = None
    #: The seed for choosing examples and candidates: with scripted models two searches find the same.
    seed: int = 0


class GEPARootAgentPromptOptimizerResult(OptimizerResult[AgentWithScores]):
    """All candidates with their validation scores, and what gepa says of the search."""

    gepa_result: dict[str, Any] | None = None


class GEPARootAgentPromptOptimizer(AgentOptimizer[UnstructuredSamplingResult, AgentWithScores]):
    """Reflective evolution of the root agent's instruction; sub-agents do not change. Needs the extra `optimize`."""

    def __init__(self, config: GEPARootAgentPromptOptimizerConfig) -> None:
        self._config = config

    async def optimize(
        self, initial_agent: BaseAgent, sampler: Sampler[UnstructuredSamplingResult]
    ) -> GEPARootAgentPromptOptimizerResult:
        """Search until `max_metric_calls` examples were evaluated; a ConfigurationError if there is no text."""
        agent = with_static_instruction(initial_agent)
        try:
            search = import_module("gepa").optimize
            batch = import_module("gepa.core.adapter").EvaluationBatch
        except ImportError as error:
            raise FeatureUnavailableError(
                "GEPA needs the library gepa: pip install 'newel[optimize]'; SimplePromptOptimizer needs none"
            ) from error
        bridge = _Bridge(asyncio.get_running_loop())
        adapter = _Adapter(agent, sampler, bridge, batch)
        numbers = iter(range(10**9))

        def reflect(question: str) -> str:
            return bridge.wait(self._reflection(question, next(numbers)))

        def run() -> Any:
            return search(
                seed_candidate={_TEXT: str(agent.instruction)},
                trainset=[("train", one) for one in sampler.get_train_example_ids()],
                valset=[("validation", one) for one in sampler.get_validation_example_ids()],
                adapter=adapter,
                reflection_lm=reflect,
                max_metric_calls=self._config.max_metric_calls,
                reflection_minibatch_size=self._config.reflection_minibatch_size,
                run_dir=self._config.run_dir,
                seed=self._config.seed,
                logger=_Logger(),
            )

        result = await bridge.search(run)
        agents = [
            AgentWithScores(optimized_agent=agent.clone(update={"instruction": one[_TEXT]}), overall_score=score)
            for one, score in zip(result.candidates, result.val_aggregate_scores, strict=True)
        ]
        return GEPARootAgentPromptOptimizerResult(optimized_agents=agents, gepa_result=result.to_dict())

    async def _reflection(self, question: str, number: int) -> str:
        config = self._config
        answer = await ask(
            config.optimizer_model, prompt(question), config.model_configuration, role="optimizer", sample=number
        )
        return answer_text(answer)


class _StoppedError(BaseException):
    """The search was cancelled. gepa continues after any Exception, so this is not one."""


class _Bridge:
    """Runs coroutines in the waiting loop for gepa, which is synchronous and runs in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._stopped = False
        self._waited: Future[Any] | None = None
        #: What runs in the loop for gepa.
        self._task: asyncio.Task[Any] | None = None

    async def search(self, run: Callable[[], T]) -> T:
        """The result of `run`. On cancellation, `run` ends with the coroutine that it waits for."""
        thread = seam.spawn(asyncio.to_thread(run), name="gepa")
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stop()
            await asyncio.wait({thread, *((self._task,) if self._task is not None else ())})
            if not thread.cancelled():
                thread.exception()  # retrieved, or asyncio reports it as never retrieved
            raise

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, from gepa's thread."""
        with self._lock:
            if self._stopped:
                work.close()
                raise _StoppedError
            self._waited = future = asyncio.run_coroutine_threadsafe(self._noted(work), self._loop)
        try:
            return future.result()
        except (CancelledError, asyncio.CancelledError):
            raise _StoppedError from None

    async def _noted(self, work: Coroutine[Any, Any, T]) -> T:
        self._task = asyncio.current_task()
        return await work

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._waited is not None:
                self._waited.cancel()


#: An example's set and its id there: two sets may have cases of one id.
_Example = tuple[ExampleSet, str]


class _Adapter:
    """What gepa asks for: scores of a candidate, and what happened in its examples."""

    #: gepa proposes texts itself.
    propose_new_texts = None

    def __init__(
        self, agent: LlmAgent, sampler: Sampler[UnstructuredSamplingResult], bridge: _Bridge, batch: Any
    ) -> None:
        self._agent, self._sampler, self._bridge, self._batch = agent, sampler, bridge, batch

    def evaluate(self, batch: Sequence[_Example], candidate: Mapping[str, str], capture_traces: bool = False) -> Any:
        """The scores of `batch` in its order; an example without a score has 0."""
        agent = self._agent.clone(update={"instruction": candidate[_TEXT]})
        result = self._bridge.wait(
            self._sampler.sample_and_score(agent, batch[0][0], [one for _, one in batch], capture_traces)
        )
        data = [(result.data or {}).get(one, {}) for _, one in batch]
        scores = [result.scores.get(one, 0.0) for _, one in batch]
        return self._batch(outputs=data, scores=scores, trajectories=data)

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """What the reflecting model sees of each example."""
        seen = [
            {_TEXT: candidate[_TEXT], "score": score, "eval_data": data}
            for score, data in zip(eval_batch.scores, eval_batch.trajectories, strict=True)
        ]
        return dict.fromkeys(components_to_update, seen)


class _Logger:
    """Sends gepa's log lines to the program's log."""

    def log(self, message: str) -> None:
        """Log a line."""
        _log.info("%s", message)
