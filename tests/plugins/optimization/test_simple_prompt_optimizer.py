"""SimplePromptOptimizer: keeps the instruction that scores higher, the same one each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.evaluation import EvalCase, EvalConfig, EvalSet, Invocation
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.models import BaseLlm, LLMRegistry
from newel.optimization.local_eval_sampler import LocalEvalSampler, LocalEvalSamplerConfig
from newel.optimization.simple_prompt_optimizer import SimplePromptOptimizer, SimplePromptOptimizerConfig
from newel_kernel import ConfigurationError, LlmRequest, LlmResponse
from newel_types import Content, Part


def said(text: str) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


class Obedient(BaseLlm):
    """Greets only where its instruction says so."""

    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield said("good day" if "Greet" in str(llm_request.config.system_instruction) else "what?")


class Proposer(BaseLlm):
    """Proposes a worse instruction, then a better one."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["test-proposer/.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text = llm_request.contents[0].parts[0].text or ""  # type: ignore[index]
        yield said("Greet." if "Be brief." in text else "Be brief." if "Do well." in text else "Do well.")


LLMRegistry.register(Proposer)


def sampler() -> LocalEvalSampler:
    turn = Invocation(
        user_content=Content(role="user", parts=[Part(text="hi")]),
        final_response=Content(role="model", parts=[Part(text="good day")]),
    )
    sets = InMemoryEvalSetsManager()
    cases = [EvalCase(eval_id=f"c{n}", conversation=[turn]) for n in range(4)]
    sets.store("demo", EvalSet(eval_set_id="s", eval_cases=cases))
    config = EvalConfig(criteria={"response_match_score": 0.8})
    return LocalEvalSampler(LocalEvalSamplerConfig(eval_config=config, app_name="demo", train_eval_set="s"), sets)


def optimized(instruction: Any) -> Any:
    config = SimplePromptOptimizerConfig(optimizer_model="test-proposer/x", num_iterations=3, batch_size=2)
    agent = LlmAgent(name="a", model=Obedient(), instruction=instruction)
    return asyncio.run(SimplePromptOptimizer(config).optimize(agent, sampler()))


def test_a_better_instruction_stays() -> None:
    (best,) = optimized("Be brief.").optimized_agents
    assert (best.optimized_agent.instruction, best.overall_score) == ("Greet.", 1.0)


def test_a_proposal_that_is_no_better_goes() -> None:
    (best,) = optimized("Do well.").optimized_agents
    assert (best.optimized_agent.instruction, best.overall_score) == ("Do well.", 0.0)


def test_only_a_static_instruction_is_optimised() -> None:
    with pytest.raises(ConfigurationError, match="needs an instruction that is a string"):
        optimized(lambda context: "dynamic")
