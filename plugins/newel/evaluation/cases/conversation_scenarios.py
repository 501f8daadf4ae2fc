"""Conversation scenarios: what a simulated user wants."""

from pydantic import Field, field_validator

from newel.evaluation import simulation
from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.simulation.user_simulator_personas import UserPersona


class ConversationScenario(EvalBaseModel):
    """A first message, a plan for the rest, and who the user is.

    `user_persona` may be the id of a registered persona; an unknown id is a NotFoundError.
    """

    starting_prompt: str
    conversation_plan: str
    user_persona: UserPersona | None = None

    @field_validator("user_persona", mode="before")
    @classmethod
    def _by_id(cls, value: object) -> object:
        return simulation.get_default_persona_registry().get_persona(value) if isinstance(value, str) else value


class ConversationScenarios(EvalBaseModel):
    """The file of `eval_set add_eval_case`."""

    scenarios: list[ConversationScenario] = Field(default_factory=list)


class ConversationGenerationConfig(EvalBaseModel):
    """How `eval_set generate_eval_cases` invents scenarios: how many, in which words, with which model."""

    count: int = Field(ge=1)
    generation_instruction: str | None = None
    environment_context: str | None = None
    #: A model's address, as an agent names one.
    model_name: str
