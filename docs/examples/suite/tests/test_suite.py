"""The suite's plugins, given directly: a store, rules and a log, in addition to everything of `standard`."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import ModuleType
from typing import TypedDict

import pytest

from newel import Agent
from newel.sessions.kinds import SessionBackend
from newel.testing import Conversation, ScriptedModel, session_conformance
from newel.types import FunctionCall
from newel_compose import Composition, compose
from newel_kernel import ConfigurationError, Event, Json
from newel_suite import house_rules, tool_log
from newel_suite.journal import plugin as journal
from newel_suite.journal.service import JournalSessionService

HOUSE = Path(house_rules.__file__).with_name("house.yaml")


class Where(TypedDict):
    """A session's names."""

    app_name: str
    user_id: str
    session_id: str


WHERE: Where = {"app_name": "house", "user_id": "ann", "session_id": "1"}


def named(module: ModuleType, name: str) -> ModuleType:
    """A module as a plugin that is given directly: it says its name itself."""
    vars(module)["name"] = name
    return module


SUITE = [named(house_rules, "house_rules"), named(journal, "journal"), named(tool_log, "tool_log")]


@pytest.fixture
def house(tmp_path: Path) -> Composition:
    """The distribution of the house, without the plugins' names: here nothing is installed."""
    text = HOUSE.read_text().replace("plugins: [house_rules, journal, tool_log]\n", "")
    file = tmp_path / "house.yaml"
    file.write_text(text.replace(".newel/sessions.journal", f"{tmp_path}/sessions.journal"))
    return compose(file, plugins=SUITE)


# --- the store --------------------------------------------------------------------------------------------------------


def test_it_does_what_newel_needs_of_a_store(tmp_path: Path) -> None:
    session_conformance(lambda: JournalSessionService(f"{tmp_path}/j"), examples=3)


def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path) -> None:
    async def first() -> None:
        store = JournalSessionService(f"{tmp_path}/j")
        session = await store.create_session(**WHERE, state={"user:name": "Ann"})
        for number in range(3):
            await store.append_event(session, Event(author="user", message=f"{number}", state={"n": number}))
        await store.fork(**WHERE, new_session_id="2", events=2)
        await store.create_session(app_name="house", user_id="ann", session_id="3")
        await store.delete_session(app_name="house", user_id="ann", session_id="3")
        await store.close()

    async def second() -> tuple[list[str], Json, list[str | None]]:
        store = JournalSessionService(f"{tmp_path}/j")
        listing = await store.list_sessions(app_name="house")
        fork = await store.get_session(app_name="house", user_id="ann", session_id="2")
        session = await store.get_session(**WHERE)
        await store.close()
        assert fork is not None
        assert session is not None
        return [one.id for one in listing.sessions], fork.state, [one.text for one in session.events]

    asyncio.run(first())
    with Path(tmp_path, "j").open("a") as file:
        file.write('{"do":"app')  # the process died here
    for _ in range(2):
        assert asyncio.run(second()) == (["1", "2"], {"n": 1, "user:name": "Ann"}, ["0", "1", "2"])


def test_a_second_process_is_refused_and_so_is_an_uri_without_a_file(tmp_path: Path) -> None:
    store = JournalSessionService(f"{tmp_path}/j")
    with pytest.raises(ConfigurationError, match="in use by another process"):
        JournalSessionService(f"{tmp_path}/j")
    asyncio.run(store.close())
    with pytest.raises(ConfigurationError, match="names no file"):
        journal.open_journal("journal:///")


# --- the house --------------------------------------------------------------------------------------------------------


def test_the_plugins_stand_where_they_should(house: Composition) -> None:
    chain = [step.name for step in house.request_chain]
    assert chain.index("identity") < chain.index("house_rules") < chain.index("contents")
    assert "tool_log" in [policy.name for policy in house.tool_chain]
    assert house.registry.owned(SessionBackend)["journal"].plugin == "journal"
    store = house.open_service(SessionBackend)
    assert isinstance(store, JournalSessionService)
    assert store is not None
    asyncio.run(store.close())


@pytest.mark.parametrize("distribution", ["minimal", "adk", "standard"])
def test_they_compose_with_every_distribution(distribution: str) -> None:
    assert "house_rules" in [step.name for step in compose(distribution, plugins=SUITE).request_chain]


def test_the_model_is_told_the_rules(house: Composition) -> None:
    model = ScriptedModel("Good day.")
    Conversation(Agent(name="clerk", model=model), distribution=house).say("Hello.")
    assert "- Never name a customer." in str(model.requests[0].config.system_instruction)


def test_a_call_is_a_line_without_its_arguments(house: Composition, caplog: pytest.LogCaptureFixture) -> None:
    def find(secret: str) -> dict[str, object]:
        """Find it."""
        return {"error": "there is none"} if secret == "x" else {"found": 1}

    steps = [
        FunctionCall(name="find", args={"secret": "key-1"}),
        FunctionCall(name="find", args={"secret": "x"}),
        "Done.",
    ]
    with caplog.at_level(logging.INFO, "newel_suite.tools"):
        Conversation(Agent(name="clerk", model=ScriptedModel(steps), tools=[find]), distribution=house).say("Find it.")
    assert [line.split(",")[0] for line in caplog.messages] == ["clerk: find done", "clerk: find gave an error"]
    assert "key-1" not in caplog.text
