"""`newel.run` that waits: the question is raised, and answered where it is."""

from __future__ import annotations

from typing import Any

import pytest

import newel
from newel.testing import ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel.types import FunctionCall, Part
from newel_kernel import ConfigurationError


def call(name: str, **args: Any) -> Part:
    return Part(function_call=FunctionCall(name=name, args=args))


@newel.tool(require_confirmation=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def agent(*steps: Any, tools: Any = (pay,)) -> newel.Agent:
    return newel.Agent(name="clerk", model=ScriptedModel(steps), tools=list(tools))


def test_an_approval_is_raised_with_the_question_and_the_way_to_answer() -> None:
    with pytest.raises(newel.Waiting) as caught:
        newel.run(agent(call("pay", amount=5), "It is paid."), "Pay 5.")
    message = str(caught.value)
    assert message.startswith("the agent 'clerk' waits: approve pay(amount=5)? Answer with")
    assert "waiting.answer(True or False)" in message
    (question,) = caught.value.questions
    assert (question.original["name"], question.original["args"]) == ("pay", {"amount": 5})


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (True, {"result": "paid 5"}),
        (False, {"error": "This tool call is rejected."}),
        ({"confirmed": True, "editedArgs": {"amount": 7}}, {"result": "paid 7"}),
    ],
)
def test_the_answer_goes_on(answer: object, result: object) -> None:
    clerk = agent(call("pay", amount=5), "Done.")
    with pytest.raises(newel.Waiting) as caught:
        newel.run(clerk, "Pay 5.")
    assert caught.value.answer(answer) == "Done."
    (response,) = clerk.model.requests[-1].contents[-1].parts
    assert response.function_response.response == result


def test_what_tools_have_put_away_is_there_when_it_goes_on() -> None:
    async def draft(tool_context: newel.Context) -> str:
        """Draft the bill."""
        await tool_context.save_artifact("bill.txt", Part(text="5 euros"))
        await tool_context.add_session_to_memory()
        return "drafted"

    async def send(tool_context: newel.Context) -> str:
        """Send the bill."""
        bill = await tool_context.load_artifact("bill.txt")
        found = await tool_context.search_memory("bill")
        return f"{bill.text if bill else None}, {len(found.memories)} found"

    clerk = agent(call("draft"), call("pay", amount=5), call("send"), "Sent.", tools=[draft, pay, send])
    with pytest.raises(newel.Waiting) as caught:
        newel.run(clerk, "The bill, please.")
    assert caught.value.answer(True) == "Sent."
    (response,) = clerk.model.requests[-1].contents[-1].parts
    assert response.function_response.response == {"result": "5 euros, 1 found"}


def test_several_questions_and_several_rounds() -> None:
    clerk = agent([call("pay", amount=1), call("pay", amount=2)], call("pay", amount=3), "All paid.")
    with pytest.raises(newel.Waiting) as first:
        newel.run(clerk, "Pay.")
    assert len(first.value.questions) == 2
    with pytest.raises(newel.Waiting) as second:
        first.value.answer(True, True)
    assert [question.original["args"] for question in second.value.questions] == [{"amount": 3}]
    assert second.value.answer(True) == "All paid."


def test_a_long_running_tool_without_a_word_waits_and_one_with_a_word_does_not() -> None:
    def order() -> None:
        """Order."""

    tools = [LongRunningFunctionTool(order)]
    with pytest.raises(newel.Waiting) as caught:
        newel.run(agent(call("order"), "It has come.", tools=tools), "Order it.")
    assert "order()" in str(caught.value)
    assert caught.value.answer("a parcel") == "It has come."


def test_answers_that_do_not_fit() -> None:
    with pytest.raises(newel.Waiting) as caught:
        newel.run(agent(call("pay", amount=5)), "Pay 5.")
    with pytest.raises(ConfigurationError, match="0 answers, but the run waits for 1"):
        caught.value.answer()
    with pytest.raises(ConfigurationError, match="answer true or false, or an object with `confirmed`"):
        caught.value.answer("yes")


def test_a_scripted_model_of_one_answer() -> None:
    assert newel.run(newel.Agent(name="a", model=ScriptedModel("Hello.")), "Hi") == "Hello."
    assert newel.run(newel.Agent(name="a", model=ScriptedModel({"text": "Hello."})), "Hi") == "Hello."
    assert newel.run(newel.Agent(name="a", model=ScriptedModel(Part(text="Hello."))), "Hi") == "Hello."
    assert newel.run(newel.Agent(name="a", model=ScriptedModel(lambda request: "Hello.")), "Hi") == "Hello."
    with pytest.raises(OSError, match="away"):
        newel.run(newel.Agent(name="a", model=ScriptedModel(OSError("away"))), "Hi")


def test_the_door() -> None:
    assert newel.__version__ == "0.1.0"
    assert sorted(newel.__all__) == newel.__all__ == sorted(newel.__dir__())
    for name in newel.__all__:
        assert getattr(newel, name) is not None
    import pydoc

    shown = pydoc.render_doc(newel, renderer=pydoc.plaintext)
    for name in ("Agent", "Runner", "Waiting", "BasePlugin", "run"):
        assert f"{name}" in shown
