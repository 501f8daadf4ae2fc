"""The support desk with models that answer as they are told: who approves what, and what is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from newel.agents import LlmAgent
from newel.agents.config_agent_utils import from_config
from newel.memory import SqliteMemoryService
from newel.sessions import SqliteSessionService
from newel.testing import Conversation, ScriptedModel
from newel.types import FunctionCall
from newel_compose import compose

FOLDER = Path(__file__).parent
Step = str | FunctionCall


def desk(*steps: Step, refunds: Sequence[Step] = ()) -> LlmAgent:
    """The team of the files, with scripted models."""
    agent = from_config(str(FOLDER / "root_agent.yaml"))
    clerk = agent.find_agent("refunds")
    assert isinstance(agent, LlmAgent)
    assert isinstance(clerk, LlmAgent)
    agent.model, clerk.model = ScriptedModel(steps), ScriptedModel(refunds)
    return agent


def to_refunds() -> FunctionCall:
    return FunctionCall(name="transfer_to_agent", args={"agent_name": "refunds"})


def refund(number: int, amount: float) -> FunctionCall:
    return FunctionCall(name="refund", args={"number": number, "amount": amount})


@pytest.mark.parametrize(
    ("number", "amount", "asks"), [(18, 12.5, False), (17, 129.0, True), (18, 13.0, True), (99, 1.0, True)]
)
def test_a_person_approves_what_is_large_or_odd(number: int, amount: float, asks: bool) -> None:
    talk = Conversation(desk(to_refunds(), refunds=[refund(number, amount), "Done."]))
    assert bool(talk.say("Money back, please.").questions) is asks


def test_money_is_paid_once_after_the_approval_although_the_process_ended(tmp_path: Path) -> None:
    store = f"{tmp_path}/sessions.db"
    asking = desk(to_refunds(), refunds=[refund(17, 129.0)])
    talk = Conversation(asking, session_service=SqliteSessionService(store))
    assert [call.name for call in talk.say("129 euros back for order 17.").calls][-1] == "adk_request_confirmation"
    assert "user:refunds" not in talk.session.state

    talk.restart(desk(refunds=["It is paid."]))  # for example another process
    yes = talk.answers({"confirmed": True})
    assert talk.say(yes).text == "It is paid."
    assert talk.session.state["user:refunds"] == {"17": 129.0}

    talk.restart(desk(refunds=["It was paid."]))
    again = talk.say(yes)
    assert again[-1].error_code == "ANSWERED_BEFORE"
    assert talk.session.state["user:refunds"] == {"17": 129.0}


def test_a_second_refund_of_one_order_is_refused() -> None:
    steps: list[Step] = [refund(18, 12.5), "Paid.", refund(18, 12.5), "That was paid already."]
    talk = Conversation(desk(to_refunds(), refunds=steps))
    assert "'refunded_euro': 12.5" in str(talk.say("Money back for the socks.").results[-1])
    assert "already" in str(talk.say("Once more!").results[-1])


def test_what_was_said_is_found_in_a_later_session(tmp_path: Path) -> None:
    memory = SqliteMemoryService(f"{tmp_path}/memory.db")
    first = Conversation(desk("Noted."), memory_service=memory, session_id="monday")
    first.say("I am allergic to wool.")

    ask = FunctionCall(name="load_memory", args={"query": "allergic"})
    later = Conversation(desk(ask, "No wool for you."), memory_service=memory, session_id="friday")
    turn = later.say("Which socks can I wear?")
    assert "allergic to wool" in str(turn.results[0])
    assert turn.text == "No wool for you."


def test_its_distribution_keeps_everything_in_files() -> None:
    services = compose(FOLDER / "newel.yaml").distribution.services
    assert services["session"] == "sqlite:///.newel/sessions.db"
    assert services["memory"] == "sqlite:///.newel/memory.db"
