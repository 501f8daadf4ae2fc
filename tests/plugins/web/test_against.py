"""Turn against turn, in a browser: where the cache broke, by whom, what it cost, and a remedy that composes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.plugins.server.conftest import served

from newel import Agent, Context
from newel.server import app
from newel.server.options import Options
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part
from newel_compose import compose
from newel_kernel import LlmRequest, LlmResponse, RequestProcessor, hookimpl

expect = pytest.importorskip("playwright.sync_api").expect
RULES = "\n".join(f"Rule {n}: be kind to customer number {n}, whatever they say." for n in range(40))


def tick(tool_context: Context) -> str:
    """Let a minute pass."""
    tool_context.state["time"] = "19:04"
    return "a minute later"


def answers(cached: int) -> Iterator[Any]:
    """A call of the tool, then words; each with tokens."""
    parts = [Part(function_call=FunctionCall(name="tick", args={})), Part(text="It is done.")]
    for number, part in enumerate(parts):
        usage = {"promptTokenCount": 4_000, "candidatesTokenCount": 10, "cachedContentTokenCount": cached * number}
        yield LlmResponse(
            content=Content(role="model", parts=[part]),
            usage_metadata=GenerateContentResponseUsageMetadata.model_validate(usage),
            model_version="claude-sonnet-4-5",
        )


@contextmanager
def told(instruction: str, cached: int = 0, plugins: tuple[object, ...] = ()) -> Iterator[tuple[str, str]]:
    """A server on which two calls were made; its address, and the session."""
    agent = Agent(name="clerk", model=ScriptedModel(answers(cached)), instruction=instruction, tools=[tick])
    composition = compose("standard", plugins=plugins)
    with served(app(agents={"clerk": agent}, composition=composition, options=Options(development=True))) as client:
        state = {"time": "19:02"}
        session = client.post("/apps/clerk/users/user/sessions", json={"state": state}).json()["id"]
        said = {"role": "user", "parts": [{"text": "Go."}]}
        body = {"appName": "clerk", "userId": "user", "sessionId": session, "newMessage": said}
        client.post("/run", json=body).raise_for_status()
        yield str(client.base_url).rstrip("/"), session


def test_where_the_cache_broke_by_whom_and_for_how_much(page_at: Any, tmp_path: Path):
    with told("It is {time}.\n" + RULES, cached=200) as (origin, session):
        page = page_at(f"#/clerk/{session}/chain/2/against/1", origin=origin)
        verdict = page.locator(".verdict")
        expect(verdict).to_contain_text("The cache broke after")
        expect(verdict).to_contain_text("It cost about $0.0")
        expect(verdict).to_contain_text("instructions newel")
        expect(verdict).to_contain_text("wrote “It is 19:04.” where there was “It is 19:02.”")
        expect(page.locator(".diff .del u")).to_have_text("2")
        expect(page.locator(".diff .add u")).to_have_text("4")
        expect(page.locator(".diff .again").first).to_contain_text("Rule 0")
        expect(page.locator(".brk")).to_contain_text("by instructions")
        button = verdict.get_by_role("button", name="Copy YAML: instructions as the last step")
        button.click()
        text = page.evaluate("navigator.clipboard.readText()")
        assert yaml.safe_load(text)["request_chain"][-1] == "instructions"
        (tmp_path / "newel.yaml").write_text(text)
        changed = compose(tmp_path / "newel.yaml")
        assert [one.stage.name for one in changed.placed["request_chain"]][-1] == "instructions"
        page.reload()
        expect(verdict).to_contain_text("The cache broke after")
        page.close()


class Clock:
    """A stranger's plugin, which no distribution can name: it is given as an object."""

    name = "clock"

    @hookimpl
    def register_request_processors(self) -> list[RequestProcessor]:
        """Writes the time in front of all."""
        times = itertools.count()

        async def write(ctx: Any, request: LlmRequest) -> None:
            request.config.system_instruction = f"Minute {next(times)}.\n{request.config.system_instruction}"

        return [RequestProcessor(name="clock", run=write, after=("instructions",))]


def test_a_remedy_that_does_not_compose_is_not_offered(page_at: Any):
    with told(RULES, cached=200, plugins=(Clock(),)) as (origin, session):
        page = page_at(f"#/clerk/{session}/chain/2/against/1", origin=origin)
        verdict = page.locator(".verdict")
        expect(verdict).to_contain_text("clock")
        expect(verdict).to_contain_text("No change of the distribution that composes would mend it.")
        expect(verdict.get_by_role("button")).to_have_count(0)
        page.close()


def test_without_a_reported_cache_there_is_no_verdict(page_at: Any):
    with told("It is {time}.\n" + RULES) as (origin, session):
        page = page_at(f"#/clerk/{session}/chain/2/against/1", origin=origin)
        expect(page.locator(".verdict")).to_contain_text("reports no cache: there is no verdict, only the difference")
        page.close()


def test_why_the_reported_count_is_not_the_common_beginning(page_at: Any):
    with told(RULES, cached=600) as (origin, session):
        page = page_at(f"#/clerk/{session}/chain/2/against/1", origin=origin)
        verdict = page.locator(".verdict")
        expect(verdict).to_contain_text("All of call 1 stands at the beginning of this call")
        expect(verdict).to_contain_text("but call 1 reports nothing written to the cache")
        page.close()


def test_a_trial_says_what_is_wrong(api: Any):
    found = api.post("/dev/composition/trial", json={"disable": ["no_such_plugin"]}).json()
    assert found["accepted"] is False
    assert "no_such_plugin" in found["problem"]
    assert api.post("/dev/composition/trial", json={"plugins": ["x"]}).status_code == 422
    assert api.post("/dev/composition/trial", json={"disable": ["web"]}).json()["accepted"] is True
