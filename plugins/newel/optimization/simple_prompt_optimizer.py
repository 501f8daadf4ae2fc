"""SimplePromptOptimizer: a model proposes instructions; one that scores higher stays."""

from __future__ import annotations

import random

from pydantic import BaseModel, ConfigDict, Field

from newel.agents.llm_agent import LlmAgent
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.model_calls import ask, prompt
from newel.models import catalogue
from newel.optimization.agent_optimizer import AgentOptimizer
from newel.optimization.data_types import AgentWithScores, OptimizerResult, UnstructuredSamplingResult
from newel.optimization.sampler import Sampler
from newel_kernel import BaseAgent, ConfigurationError
from newel_types import GenerateContentConfig

_PROMPT = """You improve the instruction of an agent.

The current instruction:
{instruction}

It passes this share of the examples it was tried on: {score}

Write a better instruction: keep what works, clarify what was unclear, and do not mention the examples. Answer with
the instruction and nothing else.
"""


class SimplePromptOptimizerConfig(BaseModel):
    """Which model proposes, how often, and on how many examples each proposal is tried."""

    model_config = ConfigDict(extra="forbid")

    optimizer_model: str = catalogue.GEMINI
    model_configuration: GenerateContentConfig | None = None
    num_iterations: int = Field(default=10, ge=1)
    batch_size: int = Field(default=5, ge=1)
    #: The seed for choosing examples.
    seed: int = 0


class SimplePromptOptimizer(AgentOptimizer[UnstructuredSamplingResult, AgentWithScores]):
    """Hill climbing over the root agent's instruction."""

    def __init__(self, config: SimplePromptOptimizerConfig) -> None:
        self._config = config

    async def optimize(
        self, initial_agent: BaseAgent, sampler: Sampler[UnstructuredSamplingResult]
    ) -> OptimizerResult[AgentWithScores]:
        """The best agent, with its score on the validation examples."""
        best = with_static_instruction(initial_agent)
        chance = random.Random(self._config.seed)  # noqa: S311 - repeatable, not secret
        examples = sampler.get_train_example_ids()
        score = await self._score(best, sampler, self._batch(examples, chance))
        for turn in range(self._config.num_iterations):
            text = await self._proposal(str(best.instruction), score, turn)
            candidate = best.clone(update={"instruction": text})
            tried = await self._score(candidate, sampler, self._batch(examples, chance))
            if tried > score:
                best, score = candidate, tried
        final = await sampler.sample_and_score(best, "validation")
        return OptimizerResult(
            optimized_agents=[AgentWithScores(optimized_agent=best, overall_score=_mean(final.scores))]
        )

    def _batch(self, examples: list[str], chance: random.Random) -> list[str]:
        return chance.sample(examples, min(self._config.batch_size, len(examples)))

    async def _score(self, agent: BaseAgent, sampler: Sampler[UnstructuredSamplingResult], batch: list[str]) -> float:
        return _mean((await sampler.sample_and_score(agent, "train", batch)).scores)

    async def _proposal(self, instruction: str, score: float, turn: int) -> str:
        text = _PROMPT.format(instruction=instruction, score=score)
        answer = await ask(
            self._config.optimizer_model, prompt(text), self._config.model_configuration, role="optimizer", sample=turn
        )
        return answer_text(answer).strip() or instruction


def with_static_instruction(agent: BaseAgent) -> LlmAgent:
    """`agent` as an LlmAgent whose instruction is a text; a ConfigurationError (a ValueError) if it is not one."""
    if not isinstance(agent, LlmAgent) or not isinstance(agent.instruction, str):
        raise ConfigurationError(
            f"the agent {agent.name!r} needs an instruction that is a string; nothing else can be optimised"
        )
    return agent


def _mean(scores: dict[str, float]) -> float:
    return sum(scores.values()) / len(scores) if scores else 0.0
