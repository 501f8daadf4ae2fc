"""What a server counts."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from tests.plugins.server.conftest import Serve

from newel import Agent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.server.metrics.process import METRICS, Metrics
from newel.server.metrics.series import MOST, Counter, Histogram
from newel.testing import ScriptedModel
from newel.tools.agent_tool import AgentTool
from newel.tools.long_running_tool import LongRunningFunctionTool
from newel.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
SECRET = "the secret of ann"


class Paid(BaseLlm):
    """A model of a provider whose prices are known; it answers, and asks its helper first if told to."""

    networked: ClassVar[bool] = True
    provider: str = "anthropic"
    model: str = "claude-sonnet-4-5"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        counts = {"prompt_token_count": 1000, "candidates_token_count": 100, "total_token_count": 1100}
        usage = GenerateContentResponseUsageMetadata(**counts, cached_content_token_count=200)
        part = Part(text="done")
        if "helper" in llm_request.tools_dict and not llm_request.contents[-1].parts[-1].function_response:  # type: ignore[index]
            part = Part(function_call=FunctionCall(name="helper", args={"request": "help"}))
        yield LlmResponse(content=Content(role="model", parts=[part]), usage_metadata=usage)


def samples_of(client: httpx.Client) -> dict[str, float]:
    """The samples by name and labels; each series is described before its samples."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, float] = {}
    described: set[str] = set()
    for line in answer.text.splitlines():
        if line.startswith("# "):
            described.add(line.split(" ")[2])
            continue
        match = LINE.fullmatch(line)
        assert match is not None, line
        assert match[1] in described or re.sub("_(bucket|sum|count)$", "", match[1]) in described, line
        found[line.rpartition(" ")[0]] = float(match[3])
    return found


def say(client: httpx.Client, session: str, path: str = "/run") -> httpx.Response:
    client.post(f"/apps/clerk/users/ann/sessions/{session}")
    said = {"role": "user", "parts": [{"text": SECRET}]}
    body = {"appName": "clerk", "userId": "ann", "sessionId": session, "newMessage": said}
    return client.post(path, json=body)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has counted nothing yet."""
    monkeypatch.setattr(METRICS, "__dict__", Metrics().__dict__)


def start() -> dict[str, str]:
    """A job that takes long."""
    return {"status": "pending"}


def fail(request: Any) -> str:
    raise ValueError(SECRET)


@pytest.mark.parametrize(
    ("distribution", "answer", "outcome"),
    [
        ("adk", "hello", "done"),
        ("standard", "hello", "done"),
        ("adk", fail, "failed"),
        ("adk", [Part(function_call=FunctionCall(name="start", args={}))], "waiting"),
        ("standard", LlmResponse(error_code="429", error_message=SECRET), "error"),
    ],
)
def test_a_run_counts_by_its_outcome(serve: Serve, distribution: str, answer: Any, outcome: str) -> None:
    agent = Agent(name="clerk", model=ScriptedModel([answer, ""]), tools=[LongRunningFunctionTool(start)])
    client = serve(agents={"clerk": agent}, distribution=distribution)
    say(client, "s")
    samples = samples_of(client)
    assert {key: value for key, value in samples.items() if "newel_runs_total" in key} == {
        f'newel_runs_total{{app="clerk",outcome="{outcome}"}}': 1
    }
    assert samples['newel_run_seconds_count{app="clerk"}'] == 1
    assert samples['newel_requests_total{method="POST",status="200"}'] >= 1


def test_what_runs_and_waits_is_seen_and_a_cancelled_run_counts(serve: Serve, tmp_path: Path) -> None:
    begun = threading.Event()

    async def late(request: Any) -> str:
        begun.set()
        await asyncio.sleep(30)
        return "late"

    (tmp_path / "queued.yaml").write_text("extends: standard\nsettings: {claims: {busy: queue}}\n")
    agents = {"clerk": Agent(name="clerk", model=ScriptedModel([late] * 3))}
    client = serve(agents=agents, distribution=str(tmp_path / "queued.yaml"))
    client.post("/apps/clerk/users/ann/sessions/s")
    threads = [threading.Thread(target=lambda: say(client, "s")) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    deadline = time.monotonic() + 10
    under_way, waiting = 'newel_runs_under_way{app="clerk"}', 'newel_runs_waiting{app="clerk"}'
    samples = samples_of(client)
    while (samples[under_way], samples.get(waiting)) != (2, 1) and time.monotonic() < deadline:
        time.sleep(0.01)
        samples = samples_of(client)
    assert (samples[under_way], samples[waiting]) == (2, 1)
    for run in client.get("/apps/clerk/users/ann/sessions/s/runs").json()[::-1]:
        client.post(f"/apps/clerk/users/ann/sessions/s/runs/{run['id']}/cancel")
    for thread in threads:
        thread.join()
    samples = samples_of(client)
    assert samples['newel_runs_total{app="clerk",outcome="cancelled"}'] == 1  # the other one had not begun
    assert samples['newel_runs_under_way{app="clerk"}'] == samples['newel_runs_waiting{app="clerk"}'] == 0


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_tokens_and_money_of_an_agent_and_of_those_that_it_calls(serve: Serve, distribution: str) -> None:
    helper = Agent(name="helper", model=Paid())
    agent = Agent(name="clerk", model=Paid(), tools=[AgentTool(helper)])
    client = serve(agents={"clerk": agent}, distribution=distribution)
    assert say(client, "s").status_code == 200
    samples = samples_of(client)
    labels = 'app="clerk",model="claude-sonnet-4-5"'
    assert samples[f"newel_model_answers_total{{{labels}}}"] == 3  # two of the clerk, one of the helper
    assert samples[f'newel_tokens_total{{{labels},kind="input"}}'] == 3000
    assert samples[f'newel_tokens_total{{{labels},kind="cached"}}'] == 600
    assert samples[f'newel_tokens_total{{{labels},kind="output"}}'] == 300
    # 3 dollars a million of input, a tenth of that if cached, 15 of output
    expected = 3 * (800 * 3 + 200 * 0.3 + 100 * 15) / 1e6
    assert samples[f"newel_cost_dollars_total{{{labels}}}"] == pytest.approx(expected)
    assert not [key for key in samples if "unpriced" in key]
    assert samples['newel_runs_total{app="clerk",outcome="done"}'] == 1


def test_tokens_without_a_price_are_told(serve: Serve) -> None:
    client = serve(agents={"clerk": Agent(name="clerk", model=Paid(model="house-model"))})
    say(client, "s")
    samples = samples_of(client)
    assert samples['newel_unpriced_answers_total{app="clerk",model="house-model"}'] == 1
    assert not [key for key in samples if "dollars" in key]


def test_the_time_to_the_first_event_of_a_stream(serve: Serve) -> None:
    client = serve()
    say(client, "s", "/run_sse")
    say(client, "s", "/run")
    samples = samples_of(client)
    assert samples['newel_first_frame_seconds_count{app="clerk"}'] == 1
    assert 0 < samples['newel_first_frame_seconds_sum{app="clerk"}'] < 10


def test_no_content_and_no_user_is_in_the_metrics(serve: Serve) -> None:
    client = serve()
    say(client, "a session of ann")
    client.request("MADEUP", "/run")
    text = client.get("/metrics").text
    for word in ("ann", "secret", "MADEUP", "session of"):
        assert word not in text.replace("channel", "")


def test_the_sets_of_labels_are_bounded_and_their_text_is_escaped() -> None:
    counter = Counter("newel_x_total", "Text.", "model")
    histogram = Histogram("newel_y", "Text.", "model")
    for number in range(5 * MOST):
        counter.add(1, f"model-{number}")
        histogram.add(1.0, f"model-{number}")
    counter.add(2, "model-0")
    lines = [*counter.lines()]
    assert len(lines) == MOST + 1
    assert 'newel_x_total{model="model-0"} 3' in lines
    assert f'newel_x_total{{model="(other)"}} {4 * MOST}' in lines
    assert sum("_count" in line for line in histogram.lines()) == MOST + 1
    odd = Counter("newel_z_total", "Text.", "model")
    odd.add(1, 'a"b\\c\nd')
    assert [*odd.lines()] == ['newel_z_total{model="a\\"b\\\\c\\nd"} 1']


def test_a_server_without_the_plugin_has_no_metrics(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "lean.yaml"
    file.write_text("extends: standard\ndisable: [server_metrics]\n")
    client = serve(distribution=str(file))
    say(client, "s")
    assert client.get("/metrics").status_code == 404
    assert not [*METRICS.runs.lines()]
