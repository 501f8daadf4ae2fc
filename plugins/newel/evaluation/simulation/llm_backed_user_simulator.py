"""LlmBackedUserSimulator: a model plays the user of a scenario."""

from __future__ import annotations

import json
import re
from typing import ClassVar, Self

from pydantic import Field, model_validator

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.judges.llm_as_judge import answer_text
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.plugins import to_the_letter
from newel.evaluation.simulation.llm_backed_user_simulator_prompts import (
    PLACEHOLDERS,
    get_llm_backed_user_simulator_prompt,
    is_valid_user_simulator_template,
)
from newel.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
)
from newel.models import catalogue
from newel_kernel import Event, ModelError
from newel_types import Content, GenerateContentConfig, Part, ThinkingConfig

STOP_SIGNAL = "</finished>"
#: The signal where it ends something: at the begin or the end of a line. Elsewhere the user speaks of it.
_STOP = re.compile(rf"(?im)^[\s*`]*{STOP_SIGNAL}|{STOP_SIGNAL}[\s.*`]*$")
_ANYWHERE = re.compile(f"(?i){STOP_SIGNAL}")


def _thinking() -> GenerateContentConfig:
    return GenerateContentConfig(thinking_config=ThinkingConfig(include_thoughts=True, thinking_budget=10240))


class LlmBackedUserSimulatorConfig(BaseUserSimulatorConfig):
    """Which model plays, for how long, and with which words. `model` is an address, as an agent's is."""

    model: str = catalogue.GEMINI
    model_configuration: GenerateContentConfig = Field(default_factory=_thinking)
    #: The most messages of the user, including the starting prompt; negative: no limit.
    max_allowed_invocations: int = 20
    #: A prompt with ``{{ stop_signal }}``, ``{{ conversation_plan }}`` and ``{{ conversation_history }}``.
    custom_instructions: str | None = None
    include_function_calls: bool = False

    @model_validator(mode="after")
    def _placeholders(self) -> Self:
        text = self.custom_instructions
        if text is not None and not is_valid_user_simulator_template(text, PLACEHOLDERS):
            needed = ", ".join("{{ " + name + " }}" for name in PLACEHOLDERS)
            raise ValueError(f"custom_instructions must have each of {needed}")
        return self


class LlmBackedUserSimulator(UserSimulator):
    """Begins with the starting prompt, then follows the plan."""

    config_type: ClassVar[type[BaseUserSimulatorConfig]] = LlmBackedUserSimulatorConfig

    def __init__(self, *, config: BaseUserSimulatorConfig, conversation_scenario: ConversationScenario) -> None:
        super().__init__(config)
        self.settings = LlmBackedUserSimulatorConfig.model_validate(config.model_dump(exclude_unset=True))
        self._scenario = conversation_scenario
        self._sent = 0
        self._finished = False
        text, persona = self.settings.custom_instructions, conversation_scenario.user_persona
        if text and persona and not is_valid_user_simulator_template(text, (*PLACEHOLDERS, "persona")):
            raise ValueError("the scenario has a persona, so custom_instructions must have {{ persona }}, too")

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """The starting prompt, then what the model says; RuntimeError if it says nothing.

        What it says before the stop signal is the last message (not in the distribution `adk`).
        """
        limit = self.settings.max_allowed_invocations
        if 0 <= limit <= self._sent:
            return NextUserMessage(status=Status.TURN_LIMIT_REACHED)
        if self._finished:
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        text = self._scenario.starting_prompt if self._sent == 0 else await self._generated(events)
        if (stop := (_ANYWHERE if to_the_letter() else _STOP).search(text)) is not None:
            self._finished, text = True, text[: stop.start()].rstrip()
            if not text or to_the_letter():
                return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        self._sent += 1
        message = Content(role="user", parts=[Part(text=text)])
        return NextUserMessage(status=Status.SUCCESS, user_message=message)

    async def _generated(self, events: list[Event]) -> str:
        question = get_llm_backed_user_simulator_prompt(
            conversation_plan=self._scenario.conversation_plan,
            conversation_history=history(events, self.settings.include_function_calls),
            stop_signal=STOP_SIGNAL,
            custom_instructions=self.settings.custom_instructions,
            user_persona=self._scenario.user_persona,
        )
        try:
            answer = await ask(
                self.settings.model,
                prompt(question),
                self.settings.model_configuration,
                role="user",
                sample=self._sent,
            )
        except ModelError as error:
            raise RuntimeError(f"the model that plays the user failed: {error}") from error
        text = answer_text(answer)
        if not text.strip():
            raise RuntimeError(f"the model {self.settings.model!r} that plays the user said nothing")
        return text


def history(events: list[Event], with_calls: bool) -> str:
    """The conversation, a paragraph for each text. Thoughts are left out; tool calls, too, unless `with_calls`."""
    paragraphs = []
    for event in events:
        for part in event.content.parts or () if event.content is not None else ():
            if part.text and not part.thought:
                paragraphs.append(f"{event.author}: {part.text}")
            elif with_calls and part.function_call is not None:
                call = part.function_call
                paragraphs.append(f"{event.author} called {call.name} with {_json(call.args or {})}")
            elif with_calls and part.function_response is not None:
                response = part.function_response
                paragraphs.append(f"{response.name} returned {_json(response.response)}")
    return "\n\n".join(paragraphs)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
