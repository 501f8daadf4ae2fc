"""Durable plugins that were written for google-adk: they import under its names, and run where nothing else is needed.

They need google-genai and no google-adk, so each check is a process of its own; it skips where the package is absent.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

ALIASED = """
import newel.agents, newel.sessions
import newel_adk.alias
import google.adk.agents, google.adk.sessions.state
from google.adk.agents.callback_context import CallbackContext
assert google.adk.agents is newel.agents and newel.agents.__spec__.name == "newel.agents"
assert google.adk.sessions.state.State is newel.sessions.State
try:
    import google.adk.no_such_module
except ModuleNotFoundError as error:
    assert "google.adk.no_such_module" in str(error)
else:
    raise AssertionError
newel_adk.alias.install()
"""

RESTATE = """
import newel_adk.alias
import asyncio
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from restate.context_managers import contextvar
from restate.ext.adk import RestateEventSummarizer, RestatePlugin, RestateSessionService
from restate.server_context import ServerInvocationContext, _restate_context_var

class Journal(ServerInvocationContext):
    '''Runs each step once, as the server would: whoever runs again gets what was noted.'''
    def __init__(self, notes):
        self.notes, self.at, self.extension_data = notes, 0, {}
    async def run_typed(self, name, action, options=None, *args, **kwargs):
        self.at += 1
        if len(self.notes) < self.at:
            made = action()
            self.notes.append((name, await made if asyncio.iscoroutine(made) else made))
        return self.notes[self.at - 1][1]
    def __del__(self):
        pass

class Scripted(BaseLlm):
    calls: int = 0
    async def generate_content_async(self, llm_request, stream=False):
        self.calls += 1
        if any(part.function_response for content in llm_request.contents for part in content.parts):
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="rain in both")]))
        else:
            calls = [types.FunctionCall(name="weather", args={"city": city}) for city in ("Paris", "Rome")]
            parts = [types.Part(function_call=call) for call in calls]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

asked = []
def weather(city: str) -> str:
    '''The weather in a city.'''
    asked.append(city)
    return "rain"

async def run(notes):
    model = Scripted(model="scripted")
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=model, tools=[weather]), plugins=[RestatePlugin()])
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="shop", user_id="u", session_id="s")
    token = _restate_context_var.set(Journal(notes))
    try:
        message = types.Content(role="user", parts=[types.Part(text="weather?")])
        runner = Runner(app=app, session_service=sessions)
        events = [one async for one in runner.run_async(user_id="u", session_id="s", new_message=message)]
    finally:
        _restate_context_var.reset(token)
    return events[-1].content.parts[0].text, model.calls

notes = []
assert asyncio.run(run(notes)) == ("rain in both", 2)
assert asked == ["Paris", "Rome"]
assert [name for name, _ in notes] == ["call LLM", "call LLM"]
assert asyncio.run(run(notes)) == ("rain in both", 0), "what the journal has is not called again"
"""

TEMPORAL = """
import newel_adk.alias
import temporalio.google_adk, temporalio.google_adk.workflow
from google.adk.models import BaseLlm
assert issubclass(temporalio.google_adk.TemporalModel, BaseLlm)
"""


def _runs(program: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3_000:]


def _needs(*packages: str) -> None:
    for package in packages:
        parent = package.rpartition(".")[0]
        if (parent and find_spec(parent) is None) or find_spec(package) is None:
            pytest.skip(f"{package} is not installed here")
    if find_spec("google.adk") is not None:
        pytest.skip("google-adk itself is installed here")


def test_the_names_of_google_adk_are_newels_modules() -> None:
    if find_spec("google") is not None and find_spec("google.adk") is not None:
        pytest.skip("google-adk itself is installed here")
    _runs(ALIASED)


def test_a_run_within_restates_plugin_is_journaled() -> None:
    _needs("google", "google.genai", "restate")
    _runs(RESTATE)


def test_temporals_plugin_imports() -> None:
    _needs("google", "google.genai", "temporalio", "temporalio.google_adk")
    _runs(TEMPORAL)
