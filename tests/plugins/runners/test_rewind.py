"""rewind_async: the session, its state and its artifacts as they were before an invocation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel_kernel import Context
from newel_kernel import SessionNotFoundError
from newel_types import Part

WHERE = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


def put(key: str, value: str, tool_context: Context) -> str:
    """Put a value into the state."""
    tool_context.state[key] = value
    return "ok"


async def save(name: str, text: str, tool_context: Context) -> str:
    """Save an artifact."""
    await tool_context.save_artifact(name, Part(text=text))
    return "ok"


def step(tool: str, **args: str) -> list[Any]:
    return [{"call": tool, "args": args}, "ok"]


async def rewind(one: Any, invocation_id: str) -> None:
    await one.runner.rewind_async(user_id="ada", session_id="s1", rewind_before_invocation_id=invocation_id)


def test_history_and_state_go_back(talk: Any) -> None:
    async def main() -> None:
        script = [*step("put", key="a", value="1"), *step("put", key="a", value="2"), *step("put", key="b", value="3")]
        one = talk([*script, "after"], [put])
        await one.runner.session_service.create_session(**WHERE, state={"kept": "x"})
        await one.send("first")
        second = await one.send("second")
        await one.send("third", state_delta={"user:lang": "fr"})
        before = len((await one.stored()).events)
        await rewind(one, second[0].invocation_id)
        session = await one.stored()
        assert session.state == {"kept": "x", "a": "1", "user:lang": "fr"}
        assert len(session.events) == before + 1
        assert session.events[-1].actions.rewind_before_invocation_id == second[0].invocation_id
        assert session.events[-1].author == "user"
        await one.send("now")
        said = [content.parts[0].text for content in one.model.requests[-1].contents]
        assert said == ["first", None, None, "ok", "now"]

    asyncio.run(main())


def test_artifacts_go_back(talk: Any) -> None:
    async def main() -> None:
        script = [*step("save", name="a", text="old"), *step("save", name="a", text="new")]
        script += [*step("save", name="b", text="late"), *step("save", name="user:c", text="shared")]
        one = talk(script, [save])
        await one.send("first")
        second = await one.send("second")
        await one.send("third")
        await one.send("fourth")
        await rewind(one, second[0].invocation_id)
        artifacts = one.runner.artifact_service
        assert (await artifacts.load_artifact(**WHERE, filename="a")).text == "old"
        assert await artifacts.load_artifact(**WHERE, filename="b") is None
        assert (await artifacts.load_artifact(**WHERE, filename="user:c")).text == "shared"
        assert (await artifacts.load_artifact(**WHERE, filename="b", version=0)).text == "late"
        assert (await one.stored()).events[-1].actions.artifact_delta == {"a": 2, "b": 1}

    asyncio.run(main())


def test_what_is_not_there_is_an_error(talk: Any) -> None:
    async def main() -> None:
        one = talk(["x"])
        one.runner.auto_create_session = False
        with pytest.raises(SessionNotFoundError):
            await rewind(one, "e-1")
        await one.runner.session_service.create_session(**WHERE)
        with pytest.raises(ValueError, match="Invocation ID not found: e-1"):
            await rewind(one, "e-1")

    asyncio.run(main())
