"""The built-in personas: EXPERT, NOVICE and EVALUATOR."""

from enum import Enum
from functools import cache

from newel.evaluation.simulation.user_simulator_personas import UserBehavior, UserPersona, UserPersonaRegistry


class PreBuiltBehaviors(Enum):
    """Traits that the built-in personas are made of."""

    ADVANCE_DETAIL_ORIENTED = UserBehavior(
        name="Goes straight to the goal",
        description="The user knows what is needed and says it in full at the first occasion.",
        behavior_instructions=[
            "State the request of the next step of the plan with every detail that the plan has for it.",
            "Move to the next step as soon as the present one is done.",
        ],
        violation_rubrics=[
            "The user holds back a detail that the plan has for the present step.",
            "The user goes back to a step that was already done.",
        ],
    )
    ADVANCE_GOAL_ORIENTED = UserBehavior(
        name="Gives details when asked",
        description="The user says what the goal is and gives details only when the agent asks for them.",
        behavior_instructions=[
            "State the goal of the next step, not its details.",
            "Give a detail of the plan when the agent asks for it.",
        ],
        violation_rubrics=["The user gives details that the agent has not asked for."],
    )
    ANSWER_RELEVANT_ONLY = UserBehavior(
        name="Answers what concerns the plan",
        description="The user answers questions from the plan and declines others.",
        behavior_instructions=[
            "Answer a question with what the plan says.",
            "Say that it does not matter if the plan says nothing.",
        ],
        violation_rubrics=["The user invents a fact that the plan does not have."],
    )
    CORRECT_AGENT = UserBehavior(
        name="Corrects mistakes",
        description="The user notices when the agent contradicts the plan or what was said, and corrects it.",
        behavior_instructions=["Say what is wrong and what is right, in one sentence."],
        violation_rubrics=["The user goes on although the agent did something that contradicts the plan."],
    )
    TROUBLESHOOT_ONCE = UserBehavior(
        name="Tries once more",
        description="When something fails, the user helps the agent once, then gives up.",
        behavior_instructions=["After the first failure, put the request in other words.", "After a second, end."],
        violation_rubrics=["The user gives up at the first failure.", "The user repeats a request a third time."],
    )
    ACCEPT_ANSWERS = UserBehavior(
        name="Trusts the agent",
        description="The user takes what the agent says for right.",
        behavior_instructions=["Do not correct the agent; go on with the plan from what it said."],
        violation_rubrics=["The user corrects a technical detail of the agent's answer."],
    )
    PROFESSIONAL_TONE = UserBehavior(
        name="Writes to the point",
        description="Short, neutral sentences.",
        behavior_instructions=["Write one or two full sentences, without small talk."],
        violation_rubrics=["The message has small talk or slang."],
    )
    CONVERSATIONAL_TONE = UserBehavior(
        name="Writes as one talks",
        description="Everyday words, no technical terms.",
        behavior_instructions=["Use everyday words.", "Ask what a technical term means."],
        violation_rubrics=["The user uses technical terms that the agent has not explained."],
    )
    END_WHEN_DONE = UserBehavior(
        name="Ends in time",
        description="The user ends the conversation when every step of the plan is done or has failed for good.",
        behavior_instructions=["End as soon as nothing of the plan is left to do."],
        violation_rubrics=["The conversation ends before the plan is done.", "It goes on after the plan is done."],
    )


def _persona(persona_id: str, description: str, *behaviors: PreBuiltBehaviors) -> UserPersona:
    return UserPersona(id=persona_id, description=description, behaviors=[one.value for one in behaviors])


@cache
def get_default_persona_registry() -> UserPersonaRegistry:
    """The registry that ids in files are looked up in."""
    traits = PreBuiltBehaviors
    registry = UserPersonaRegistry()
    for persona in (
        _persona(
            "EXPERT",
            "Someone who knows the subject, says exactly what is needed and notices mistakes.",
            traits.ADVANCE_DETAIL_ORIENTED,
            traits.ANSWER_RELEVANT_ONLY,
            traits.CORRECT_AGENT,
            traits.TROUBLESHOOT_ONCE,
            traits.END_WHEN_DONE,
            traits.PROFESSIONAL_TONE,
        ),
        _persona(
            "NOVICE",
            "Someone who is new to the subject, has a goal and needs to be led.",
            traits.ADVANCE_GOAL_ORIENTED,
            traits.ANSWER_RELEVANT_ONLY,
            traits.ACCEPT_ANSWERS,
            traits.TROUBLESHOOT_ONCE,
            traits.END_WHEN_DONE,
            traits.CONVERSATIONAL_TONE,
        ),
        _persona(
            "EVALUATOR",
            "Someone who follows the plan to the letter in order to see what the agent does.",
            traits.ADVANCE_DETAIL_ORIENTED,
            traits.ANSWER_RELEVANT_ONLY,
            traits.ACCEPT_ANSWERS,
            traits.END_WHEN_DONE,
            traits.CONVERSATIONAL_TONE,
        ),
    ):
        registry.register_persona(persona.id, persona)
    return registry
