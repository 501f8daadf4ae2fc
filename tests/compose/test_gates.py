"""The gate of sessions: that of the plugin `claims`, a stranger's in its place, and none."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, Runner
from newel.claims import SessionBusyError
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_compose import Composition, compose
from newel_kernel import CompositionError, HookSignatureError, PluginError, SessionError, open_session

#: A stranger's gate: it counts who is in a session, refuses guests, and turns a second run away by a note of its own.
STRANGER = """
    from newel_kernel import SessionError, SessionGate, hookimpl, open_session

    inside, steps = set(), []

    async def enter(admission):
        where = admission.session_id
        if admission.user_id == "guest":
            raise SessionError("guests only look")
        if where in inside:
            raise SessionError("somebody is in there")
        inside.add(where)
        try:
            session = await open_session(admission)
        except BaseException:
            inside.discard(where)
            raise
        admission.held = where
        steps.append("in")
        return session

    async def leave(admission):
        inside.discard(admission.held)
        steps.append("out")

    @hookimpl
    def register_session_gates():
        return [SessionGate(enter=enter, leave=leave)]
"""


def house(tmp_path: Path, more: str) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nextends: standard\n{more}\n", encoding="utf-8")
    return file


def runner(composition: Composition, *answers: Any) -> Runner:
    agent = Agent(name="clerk", model=ScriptedModel(list(answers) or ["tea"] * 9))
    store = InMemorySessionService()
    return Runner(
        agent=agent, app_name="house", session_service=store, auto_create_session=True, composition=composition
    )


async def texts(one: Runner, user: str = "ada") -> list[str]:
    events = one.run_async(user_id=user, session_id="s", new_message="hello")
    return [event.content.parts[0].text or "" async for event in events if event.content and event.content.parts]


def test_a_stranger_s_wheel_replaces_the_gate_of_claims(site: Any, tmp_path: Path) -> None:
    site.install("newel-turnstile", plugins={"turnstile": "fake_turnstile"}, fake_turnstile=STRANGER)
    composed = compose(house(tmp_path, "replace: {gate: turnstile}"))
    from fake_turnstile import inside, steps  # type: ignore[import-not-found]

    one = runner(composed)

    async def main() -> None:
        async with aclosing(one.run_async(user_id="ada", session_id="s", new_message="hello")) as events:
            await anext(events)
            assert inside == {"s"}
            with pytest.raises(SessionError, match="somebody is in there"):
                await texts(one)
        assert inside == set()
        assert await texts(one) == ["tea"]
        with pytest.raises(SessionError, match="guests only look"):
            await texts(one, "guest")
        session = await one.session_service.get_session(app_name="house", user_id="ada", session_id="s")
        assert session is not None
        await one.rewind_async(
            user_id="ada", session_id="s", rewind_before_invocation_id=session.events[0].invocation_id
        )
        await one.compact_async(user_id="ada", session_id="s")

    asyncio.run(main())
    assert steps == ["in", "out"] * 4
    assert inside == set()


def test_a_gate_that_is_only_installed_takes_no_place(
    site: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site.install("newel-turnstile", plugins={"turnstile": "fake_turnstile"}, fake_turnstile=STRANGER)
    composed = compose(house(tmp_path, ""))
    assert "newel.claims" in composed.gate.enter.__module__
    record = next(one for one in composed.plugins if one.name == "turnstile")
    assert record.state == "left out"
    assert "it provides the session gate 'gate', which newel 0.1.0 provides too" in record.why


def test_two_gates_that_are_named_are_an_error(site: Any, tmp_path: Path) -> None:
    site.install("newel-turnstile", plugins={"turnstile": "fake_turnstile"}, fake_turnstile=STRANGER)
    with pytest.raises(CompositionError, match="SessionGate 'gate' is provided by the plugins 'claims'"):
        compose(house(tmp_path, "plugins: [turnstile]"))


def test_a_gate_of_another_name_is_refused_and_its_plugin_named(site: Any, tmp_path: Path) -> None:
    source = STRANGER.replace("SessionGate(", "SessionGate(name='door', ")
    site.install("newel-turnstile", plugins={"turnstile": "fake_turnstile"}, fake_turnstile=source)
    with pytest.raises(PluginError, match=r"the plugin 'turnstile' failed.* a SessionGate is named 'gate', not 'door'"):
        compose(house(tmp_path, "plugins: [turnstile]"))


def test_without_claims_runs_work_by_the_default(tmp_path: Path) -> None:
    composed = compose(house(tmp_path, "disable: [claims]"))
    assert composed.gate.enter is open_session

    async def main() -> list[str]:
        one = runner(composed)
        async with aclosing(one.run_async(user_id="ada", session_id="s", new_message="hello")) as events:
            await anext(events)
        return await texts(one)

    assert asyncio.run(main()) == ["tea"]


def test_a_stranger_s_gate_that_gives_no_session_is_named(site: Any, tmp_path: Path) -> None:
    source = STRANGER.replace("return session", "return None")
    site.install("newel-turnstile", plugins={"turnstile": "fake_turnstile"}, fake_turnstile=source)
    composed = compose(house(tmp_path, "replace: {gate: turnstile}"))
    with pytest.raises(HookSignatureError, match=r"turnstile.*enter \(fake_turnstile.py:\d+\) returned None"):
        asyncio.run(texts(runner(composed)))


def test_what_uses_a_session_finds_it_in_use(tmp_path: Path) -> None:
    async def main() -> None:
        one = runner(compose("standard"))
        async with one.session_in_use("ada", "s"):
            with pytest.raises(SessionBusyError):
                await texts(one)
        assert await texts(one) == ["tea"]

    asyncio.run(main())
