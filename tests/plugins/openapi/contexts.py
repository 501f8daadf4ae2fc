"""Contexts of tool calls."""

from __future__ import annotations

import functools

from newel.agents import LlmAgent
from newel.contexts.context import Context
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_kernel import RunConfig, Session


@functools.cache
def context_in(distribution: str) -> Context:
    """A context of a tool call; nothing is stored."""
    agent = LlmAgent(name="a", model=ScriptedModel([]))
    runner = Runner(app_name="t", agent=agent, session_service=InMemorySessionService(), distribution=distribution)
    return Context(
        runner.new_context(Session(id="s", app_name="t", user_id="u"), RunConfig(), None, None), function_call_id="c1"
    )
