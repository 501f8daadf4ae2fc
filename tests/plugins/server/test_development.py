"""What `newel web` adds: evaluation, graphs, traces, agent files, and the web UI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.plugins.server.conftest import Serve

from newel import Agent
from newel.server import Options
from newel.server.endpoints import ui
from newel.server.traces import Traces
from newel.testing import ScriptedModel
from newel.types import FunctionCall, Part

DEVELOPMENT = Options(host="127.0.0.1", development=True)
SESSION = "/apps/clerk/users/ann/sessions/s"
CODE = """
from newel import Agent
from newel.testing import ScriptedModel
from newel.types import FunctionCall, Part

def add(a: int, b: int) -> int:
    return a + b

call = [Part(function_call=FunctionCall(name="add", args={"a": 1, "b": 2}))]
root_agent = Agent(name="clerk", model=ScriptedModel([call, "three"] * 10), tools=[add])
"""


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def clerk(serve: Serve, **options: Any) -> httpx.Client:
    call = [Part(function_call=FunctionCall(name="add", args={"a": 1, "b": 2}))]
    helper = Agent(name="helper", model="echo:")
    agent = Agent(name="clerk", model=ScriptedModel([call, "three"] * 10), tools=[add], sub_agents=[helper])
    client = serve(agents={"clerk": agent}, options=DEVELOPMENT, **options)
    client.post(SESSION)
    return client


def say(client: httpx.Client) -> list[dict[str, Any]]:
    new = {"role": "user", "parts": [{"text": "add"}]}
    body = {"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": new}
    events: list[dict[str, Any]] = client.post("/run", json=body).json()
    return events


@pytest.mark.parametrize("prefix", ["/dev/apps/clerk", "/apps/clerk"])
@pytest.mark.parametrize("in_files", [True, False])
def test_a_session_becomes_a_case_that_is_run_and_judged(
    serve: Serve, tmp_path: Path, prefix: str, in_files: bool
) -> None:
    if in_files:
        (tmp_path / "clerk").mkdir()
        (tmp_path / "clerk" / "agent.py").write_text(CODE)
        client = serve(tmp_path, options=DEVELOPMENT)
        client.post(SESSION)
    else:
        client = clerk(serve)
    say(client)
    made = client.post(f"{prefix}/eval-sets", json={"evalSet": {"eval_set_id": "sums", "eval_cases": []}})
    assert made.json()["eval_set_id"] == "sums"
    assert (
        client.post(f"{prefix}/eval-sets", json={"evalSet": {"eval_set_id": "sums", "eval_cases": []}}).status_code
        == 400
    )
    assert client.get(f"{prefix}/eval-sets").json() == {"evalSetIds": ["sums"]}
    assert client.get(f"{prefix}/eval_sets").json() == ["sums"]
    case = {"evalId": "one", "sessionId": "s", "userId": "ann"}
    assert client.post(f"{prefix}/eval-sets/sums/add-session", json=case).json() is None
    assert client.get(f"{prefix}/eval_sets/sums/evals").json() == ["one"]
    metrics = [{"metricName": "tool_trajectory_avg_score", "threshold": 1.0}]
    (result,) = client.post(f"{prefix}/eval-sets/sums/run", json={"evalMetrics": metrics}).json()["runEvalResults"]
    assert (result["evalId"], result["finalEvalStatus"]) == ("one", 1)
    (id_,) = client.get(f"{prefix}/eval-results").json()["evalResultIds"]
    assert client.get(f"{prefix}/eval-results/{id_}").json()["evalSetId"] == "sums"
    stored = client.get(f"{prefix}/eval-sets/sums/eval-cases/one").json()
    stored["conversation"][0]["finalResponse"]["parts"][0]["text"] = "four"
    assert client.put(f"{prefix}/eval-sets/sums/eval-cases/one", json=stored).json() is None
    assert client.get(f"{prefix}/eval_sets/sums/evals/one").json() == stored
    assert client.delete(f"{prefix}/eval-sets/sums/eval-cases/one").json() is None
    assert client.get(f"{prefix}/eval-sets/sums/eval-cases/one").status_code == 404
    for set_id in ("../out", "a/b", ""):
        refused = client.post(f"{prefix}/eval-sets", json={"evalSet": {"eval_set_id": set_id, "eval_cases": []}})
        assert refused.status_code == 400
    assert not list(tmp_path.glob("*.json"))


def test_traces_tell_the_calls_of_a_run_and_the_event_that_each_has_made(serve: Serve) -> None:
    client = clerk(serve)
    events = say(client)
    spans = client.get("/dev/apps/clerk/debug/trace/session/s").json()
    assert [one["name"] for one in spans] == [
        "invocation",
        "invoke_agent clerk",
        "call_llm",
        "execute_tool add",
        "call_llm",
    ]
    ids = {one["span_id"] for one in spans}
    assert all(one["parent_span_id"] in ids for one in spans[1:])
    assert all(one["start_time"] <= one["end_time"] for one in spans)
    for event, word in zip(events, ("add", "3", "three"), strict=True):
        attributes = client.get(f"/dev/apps/clerk/debug/trace/{event['id']}").json()
        assert attributes["gcp.vertex.agent.event_id"] == event["id"]
        assert client.get(f"/debug/trace/{event['id']}").json() == attributes
        if "gcp.vertex.agent.llm_response" in attributes:
            assert word in json.dumps(json.loads(attributes["gcp.vertex.agent.llm_response"]))
    assert client.get("/dev/apps/clerk/debug/trace/ghost").status_code == 404
    assert client.get("/dev/apps/ghost/debug/trace/session/s").status_code == 404


@pytest.mark.parametrize("bounds", [{"most_spans": 7}, {"most_bytes": 9_000}])
def test_traces_are_bounded(bounds: dict[str, int]) -> None:
    import asyncio

    from newel.runners import InMemoryRunner

    traces = Traces(**bounds)

    async def main() -> None:
        async with InMemoryRunner(Agent(name="clerk", model=ScriptedModel(["hi"] * 20)), plugins=[traces]) as runner:
            for _ in range(10):
                async for _ in runner.run_async(user_id="ann", session_id="s", new_message="hello"):
                    pass

    asyncio.run(main())
    assert 0 < len(traces) <= 7 if "most_spans" in bounds else 0 < len(traces) < 30
    assert not traces._begun
    assert not traces._without_event


def test_graphs_are_data_and_drawings(serve: Serve) -> None:
    client = clerk(serve)
    graph = client.get("/dev/apps/clerk/build_graph").json()
    assert [child["name"] for child in graph["root_agent"]["sub_agents"]] == ["helper"]
    assert graph["root_agent"]["tools"] == ["add"]
    images = client.get("/apps/clerk/build_graph_image?dark_mode=true").json()
    assert images["clerk"]["dotSrc"].startswith("digraph")
    assert "helper" in client.get("/dev/apps/clerk/build_graph_image?node=helper").json()["dotSrc"]
    assert client.get("/dev/apps/clerk/build_graph_image?node=ghost").status_code == 404
    event = say(client)[0]
    drawn = client.get(f"/dev{SESSION}/events/{event['id']}/graph")
    assert "digraph" in drawn.json()["dotSrc"]
    assert client.get(f"/dev{SESSION}/events/ghost/graph").status_code == 404


def test_agent_files_are_read_and_nothing_else(serve: Serve, tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    for name in ("written", "coded"):
        (agents / name).mkdir(parents=True)
    (agents / "written" / "root_agent.yaml").write_text("name: written\nmodel: 'echo:'\n")
    (agents / "written" / "helper.yaml").write_text("name: helper\n")
    (agents / "written" / ".env.yaml").write_text("secret: 1\n")
    (agents / "coded" / "agent.py").write_text(CODE)
    (tmp_path / "out.yaml").write_text("secret: 1\n")
    (agents / "written" / "link.yaml").symlink_to(tmp_path / "out.yaml")
    client = serve(agents, options=DEVELOPMENT)
    read = client.get("/dev/apps/written/builder")
    assert (read.headers["content-type"], read.text) == ("application/x-yaml", "name: written\nmodel: 'echo:'\n")
    assert client.get("/builder/app/written?file_path=helper.yaml").text == "name: helper\n"
    assert client.get("/dev/apps/coded/builder").text == ""
    for path in ("../../out.yaml", "link.yaml", str(tmp_path / "out.yaml"), ".env.yaml", "../coded/agent.py", "x.py"):
        assert client.get("/dev/apps/written/builder", params={"file_path": path}).status_code == 400
    assert client.get("/dev/apps/written/builder?file_path=ghost.yaml").status_code == 404
    assert client.get("/dev/apps/ghost/builder").status_code == 404


def test_the_web_ui_is_served_where_there_is_one(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clerk(serve).get("/").headers["location"] == "/web/"
    without = tmp_path / "newel.yaml"
    without.write_text("extends: standard\ndisable: [web]\n")
    client = clerk(serve, distribution=str(without))
    assert client.get("/web/").status_code == 404
    monkeypatch.setattr(ui, "bundle", lambda: None)
    assert client.get("/").headers["location"] == "/docs"
    assert client.get("/dev-ui/").status_code == 404
    (tmp_path / "ui" / "assets").mkdir(parents=True)
    (tmp_path / "ui" / "index.html").write_text("<html>")
    (tmp_path / "ui" / "assets" / "main.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(ui, "bundle", lambda: tmp_path / "ui")
    assert client.get("/").headers["location"] == "/dev-ui/"
    assert client.get("/dev-ui/").text == "<html>"
    assert client.get("/dev-ui/assets/main.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/dev-ui/..%2Fsecret.txt").status_code == 404
    assert client.get("/dev-ui/assets").status_code == 404
    assert client.get("/dev-ui/assets/config/runtime-config.json").json() == {"backendUrl": ""}


def test_an_api_server_has_none_of_it(serve: Serve) -> None:
    client = serve()
    assert client.get("/").headers["location"] == "/docs"
    for path in ("/dev-ui/", "/dev/apps/clerk/eval-sets", "/debug/trace/session/s", "/builder/app/clerk"):
        assert client.get(path).status_code == 404
