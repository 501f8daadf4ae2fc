"""Pins: a definition that changes is asked about before it is used, in whatever process it is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, questions, results

from newel.mcp.definitions import Definition
from newel.mcp.pins import Doubt, doubts

ASKS = "adk_request_confirmation"


def log_of(folder: Path) -> str:
    return str(folder / "log")


def change(folder: Path) -> None:
    (folder / "log.changed").touch()


async def seen_before(stdio: Make, folder: Path, **options: Any) -> Talk:
    """A conversation in which the definitions were seen, and whose server changes them when it is started again."""
    toolset = stdio("raw", "changes", "--log", log_of(folder))
    talk = Talk([toolset], **options)
    await talk.say()
    await toolset.close()
    change(folder)
    return talk


@in_a_loop
async def test_a_changed_definition_is_shown_as_it_was_and_asked_about(stdio: Make, tmp_path: Path) -> None:
    before = await seen_before(stdio, tmp_path)
    toolset = stdio("raw", "changes", "--log", log_of(tmp_path))
    talk = Talk([toolset], call("echo", text="x"), "waits", "done", runner=before.runner)
    (asked,) = questions(await talk.say(), ASKS)
    hint = asked.args["toolConfirmation"]["hint"]
    assert "Sends all." not in talk.declared()["echo"].description
    assert "Echoes." in talk.declared()["echo"].description
    assert "+" in hint
    assert "Sends all." in hint
    assert "tools/call" not in (tmp_path / "log").read_text()
    found = results(await talk.answer(asked, {"confirmed": True}))
    assert found == [{"content": [{"type": "text", "text": "x"}]}]
    await talk.say()
    assert "Sends all." in talk.declared(-1)["echo"].description
    await toolset.close()


@in_a_loop
async def test_a_change_that_is_rejected_is_never_called(stdio: Make, tmp_path: Path) -> None:
    before = await seen_before(stdio, tmp_path)
    toolset = stdio("raw", "changes", "--log", log_of(tmp_path))
    talk = Talk([toolset], call("echo", text="x"), "waits", runner=before.runner)
    (asked,) = questions(await talk.say(), ASKS)
    (found,) = results(await talk.answer(asked, {"confirmed": False}))
    await toolset.close()
    assert "error" in found
    assert "tools/call" not in (tmp_path / "log").read_text()


@in_a_loop
async def test_a_tool_that_did_not_change_is_called(stdio: Make, tmp_path: Path) -> None:
    before = await seen_before(stdio, tmp_path)
    toolset = stdio("raw", "changes", "--log", log_of(tmp_path))
    talk = Talk([toolset], call("other", text="x"), runner=before.runner)
    assert results(await talk.say()) == [{"content": [{"type": "text", "text": "x"}]}]
    await toolset.close()


@in_a_loop
async def test_the_first_sight_may_be_asked_about(stdio: Make, tmp_path: Path) -> None:
    (tmp_path / "newel.yaml").write_text("name: mine\nextends: standard\nsettings: {mcp: {definitions: ask}}\n")
    toolset = stdio("raw", "plain")
    steps = call("echo", text="x"), "waits", call("echo", text="y")
    talk = Talk([toolset], *steps, distribution=str(tmp_path / "newel.yaml"))
    (asked,) = questions(await talk.say(), ASKS)
    assert "is new" in asked.args["toolConfirmation"]["hint"]
    await talk.answer(asked, {"confirmed": True})
    assert results(await talk.say()) == [{"content": [{"type": "text", "text": "y"}]}]
    await toolset.close()


@in_a_loop
async def test_with_pins_no_other_tool_is_used(stdio: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = stdio("raw", "changes", "--log", log_of(tmp_path))
    pins = {tool.definition.name: tool.definition.digest for tool in await first.get_tools()}
    await first.close()
    change(tmp_path)
    toolset = stdio("raw", "changes", "--log", log_of(tmp_path), pins=pins)
    assert [tool.name for tool in await toolset.get_tools()] == ["other"]
    await toolset.close()
    assert "'echo': its definition is not pinned, or not this one" in caplog.text


@in_a_loop
async def test_the_first_sight_is_noted_once(stdio: Make) -> None:
    toolset = stdio("raw", "plain")
    talk = Talk([toolset], call("echo", text="x"), call("echo", text="y"))
    events = await talk.say()
    notes = [event for event in events if event.actions.state_delta]
    assert [list(event.actions.state_delta) for event in notes] == [[toolset._pins_key]]
    assert len(events) == 1 + 2 * 2 + 1
    await Talk([toolset], runner=talk.runner).say()
    assert not [e for e in await Talk([toolset], runner=talk.runner).say() if e.actions.state_delta]
    await toolset.close()


@in_a_loop
async def test_the_recorded_behaviour_pins_nothing(stdio: Make) -> None:
    toolset = stdio("raw", "plain")
    talk = Talk([toolset], call("echo", text="x"), distribution="adk")
    await talk.say()
    await toolset.close()
    assert not [key for key in talk.session.state if "mcp" in key]


texts = st.text(max_size=8)
definitions = st.builds(
    Definition,
    name=st.just("t"),
    description=texts,
    title=texts,
    input_schema=st.dictionaries(texts, texts, max_size=2),
    annotations=st.dictionaries(texts, st.booleans(), max_size=2),
)


@given(definitions, definitions)
def test_any_change_is_noticed_and_nothing_else(old: Definition, new: Definition) -> None:
    pin = {"digest": old.digest, "definition": old.fields()}
    found = doubts([new], {"t": pin}, "key", ask_first=False)
    assert bool(found) == (old.fields() != new.fields())
    assert all(isinstance(one, Doubt) and one.old == old for one in found.values())
