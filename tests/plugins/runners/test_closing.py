"""Closing a runner: what hangs is given up after the runner's timeout, or that of the call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.plugins.base_plugin import BasePlugin
from newel.runners import InMemoryRunner, Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel


class Hanging(BasePlugin):
    """A plugin that never closes."""

    async def close(self) -> None:
        await asyncio.Event().wait()


def in_memory(**fields: Any) -> Runner:
    return InMemoryRunner(LlmAgent(name="a", model=ScriptedModel(["x"])), plugins=[Hanging(name="slow")], **fields)


def stored(**fields: Any) -> Runner:
    agent = LlmAgent(name="a", model=ScriptedModel(["x"]))
    plugins = [Hanging(name="slow")]
    return Runner(app_name="a", agent=agent, session_service=InMemorySessionService(), plugins=plugins, **fields)


@pytest.mark.parametrize("make", [in_memory, stored])
@pytest.mark.parametrize(("timeout", "given"), [(0.01, None), (600.0, 0.01)])
def test_what_hangs_is_given_up_after_the_timeout(make: Any, timeout: float, given: float | None) -> None:
    async def run() -> None:
        await make(plugin_close_timeout=timeout).close(*([] if given is None else [given]))

    with pytest.raises(RuntimeError, match=r"not everything closed.*TimeoutError"):
        asyncio.run(asyncio.wait_for(run(), 5))
