"""The prompt of a judge of simulated users."""

from __future__ import annotations

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.judges.fence import Fence
from newel.evaluation.simulation.user_simulator_personas import UserPersona

_PROMPT = """You judge a simulated user: whether the next message is one that the user of this scenario would write now.

{note}

The plan that the user follows:
{plan}

The conversation so far:
{history}

The user's next message:
{message}

The message is valid if it takes the next step of the plan or answers the agent from the plan, without inventing
anything. {stop} instead of a message means that the user ends the conversation: that is valid if the plan is
complete or cannot be completed.
{persona}
Answer with one JSON object and nothing else:
{{
  "reasoning": "why, in one or two sentences",
  "is_valid": true or false
}}
"""


def get_per_turn_user_simulator_quality_prompt(
    fence: Fence, scenario: ConversationScenario, history: str, message: str, stop_signal: str
) -> str:
    """The prompt about one message."""
    return _PROMPT.format(
        note=fence.note,
        plan=scenario.conversation_plan,
        history=fence.around(history),
        message=fence.around(message),
        stop=stop_signal,
        persona=_violations(scenario.user_persona),
    )


def _violations(persona: UserPersona | None) -> str:
    if persona is None:
        return ""
    lines = [f"The user is like this: {persona.description}", "The message is invalid if one of these is true:"]
    for behavior in persona.behaviors:
        lines.append(f"- {behavior.name}: {behavior.description}")
        lines.append(behavior.get_violation_rubrics_str())
    return "\n".join(lines)
