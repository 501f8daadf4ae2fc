"""Thoughts in evaluation: they are not the answer of a turn and not expected of a recorded case."""

from __future__ import annotations

from newel.agents import LlmAgent
from newel.evaluation.authoring.recorded_cases import case_of_session
from newel.evaluation.inference.turn_recording import invocation_of
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Event, LlmResponse
from newel_types import Content, FunctionCall, Part

THOUGHT = Part(text="the user must not read this", thought=True)


def test_a_thought_is_not_the_answer_of_a_turn() -> None:
    said = [Content(role="model", parts=[Part(text="The answer.")]), Content(role="model", parts=[THOUGHT])]
    events = [Event(author="a", content=content) for content in said]
    final = invocation_of(Content(role="user", parts=[Part(text="go")]), events).final_response
    assert final is not None
    assert [part.text for part in final.parts or ()] == ["The answer."]


def test_a_recorded_case_does_not_expect_thoughts() -> None:
    def look() -> str:
        """Look."""
        return "found"

    call = Part(function_call=FunctionCall(name="look", args={}))
    step = LlmResponse(content=Content(role="model", parts=[THOUGHT, Part(text="I look."), call]))
    chat = Conversation(LlmAgent(name="a", model=ScriptedModel([step, "Found."]), tools=[look]))
    chat.say("go")
    case = case_of_session(chat.session)
    [turn] = case.conversation or []
    [(_, parts)] = turn.intermediate_data.intermediate_responses
    assert [part.text for part in parts] == ["I look."]
