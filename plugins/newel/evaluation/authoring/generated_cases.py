"""Scenarios that a model invents for an agent."""

from __future__ import annotations

import json
import re

from pydantic import ValidationError

from newel.evaluation.cases.conversation_scenarios import (
    ConversationGenerationConfig,
    ConversationScenario,
    ConversationScenarios,
)
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.storage.files import problems_of
from newel_kernel import BaseAgent, ModelError

_PROMPT = """Invent {count} different conversations that people may have with this agent: common ones, rare ones, and
ones in which something goes wrong.

The agents:
{agents}
{environment}{instruction}
Answer with one JSON object and nothing else:
{{"scenarios": [{{"starting_prompt": "the user's first message", "conversation_plan": "what the user wants, knows and \
says when asked, step by step"}}]}}
"""


async def generated_scenarios(agent: BaseAgent, config: ConversationGenerationConfig) -> list[ConversationScenario]:
    """The scenarios; a ModelError if the model's answer does not hold any."""
    text = _PROMPT.format(
        count=config.count,
        agents="\n".join(_described(agent)),
        environment=f"\nWhere it works:\n{config.environment_context}\n" if config.environment_context else "",
        instruction=f"\nMind this:\n{config.generation_instruction}\n" if config.generation_instruction else "",
    )
    answer = answer_text(await ask(config.model_name, prompt(text), role="generator"))
    match = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        scenarios = ConversationScenarios.model_validate(json.loads(match.group(0) if match else answer)).scenarios
    except ValidationError as error:
        raise ModelError(f"{config.model_name!r} gave no scenarios: {problems_of(error)}") from None
    except ValueError as error:
        raise ModelError(f"{config.model_name!r} gave no scenarios: its answer is not JSON: {error}") from None
    return scenarios[: config.count]


def _described(agent: BaseAgent) -> list[str]:
    """An agent and its sub-agents, a line each."""
    instruction = getattr(agent, "instruction", "")
    text = instruction if isinstance(instruction, str) else ""
    tools = [getattr(tool, "name", None) or getattr(tool, "__name__", "") for tool in getattr(agent, "tools", ())]
    line = f"- {agent.name}: {agent.description} {text} Tools: {', '.join(filter(None, tools)) or 'none'}"
    return [line, *(line for child in agent.sub_agents for line in _described(child))]
