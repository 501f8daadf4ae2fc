"""Personas: who a simulated user is."""

from pydantic import Field

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.base_model import EvalBaseModel
from newel_kernel import did_you_mean


class UserBehavior(EvalBaseModel):
    """One trait: how to act it, and what would contradict it."""

    name: str
    description: str
    behavior_instructions: list[str] = Field(default_factory=list)
    violation_rubrics: list[str] = Field(default_factory=list)

    def get_behavior_instructions_str(self) -> str:
        """The instructions as a list of lines."""
        return "\n".join(f"  * {one}" for one in self.behavior_instructions)

    def get_violation_rubrics_str(self) -> str:
        """The violations as a list of lines."""
        return "\n".join(f"  * {one}" for one in self.violation_rubrics)


class UserPersona(EvalBaseModel):
    """A kind of user."""

    id: str
    description: str
    behaviors: list[UserBehavior] = Field(default_factory=list)


class UserPersonaRegistry:
    """Personas by id."""

    def __init__(self) -> None:
        self._personas: dict[str, UserPersona] = {}

    def get_persona(self, persona_id: str) -> UserPersona:
        """The persona of that id; NotFoundError if there is none."""
        if persona_id not in self._personas:
            raise NotFoundError(
                f"no persona {persona_id!r} is registered{did_you_mean(persona_id, self._personas)} "
                f"(there are: {', '.join(sorted(self._personas)) or 'none'})"
            )
        return self._personas[persona_id]

    def register_persona(self, persona_id: str, user_persona: UserPersona) -> None:
        """Add a persona, or replace the one of that id."""
        self._personas[persona_id] = user_persona

    def get_registered_personas(self) -> list[UserPersona]:
        """Copies of the personas."""
        return [persona.model_copy(deep=True) for persona in self._personas.values()]
