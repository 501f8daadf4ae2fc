"""`newel.run`: one message, the text of the answer."""

from __future__ import annotations

import asyncio

import pytest

import newel
from newel.models.scripted import ScriptedModel
from newel_kernel import ConfigurationError


def agent(*steps: object) -> newel.Agent:
    return newel.Agent(name="clerk", model=ScriptedModel(steps))


def test_the_answer_is_a_text() -> None:
    assert newel.run(agent("Tea is ready."), "Tea?") == "Tea is ready."


def test_options_reach_the_runner() -> None:
    assert newel.run(agent("yes"), "Tea?", distribution="adk", app_name="tearoom") == "yes"


def test_a_running_event_loop_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(ConfigurationError, match=r"use `await newel\.arun\(agent, \.\.\.\)`"):
            newel.run(agent("yes"), "Tea?")

    asyncio.run(main())
