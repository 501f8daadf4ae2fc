"""A tool's result that is too large becomes an artifact, and a reference stands in the event."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, tool
from newel.artifacts import InMemoryArtifactService
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import load_artifacts
from newel_compose import compose
from newel_kernel import Effect, Event
from newel_types import FunctionCall

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


class Desk:
    """An agent whose tool `fetch` returns `result`."""

    def __init__(self, result: object, artifacts: Any = None, distribution: Any = "standard", load: Any = None) -> None:
        @tool(effect=Effect.PURE)
        def fetch() -> object:
            """Fetch it."""
            return result

        self.artifacts = artifacts
        self.model = ScriptedModel([FunctionCall(name="fetch", args={}), *([load] if load else []), "done"])
        self.sessions = InMemorySessionService()
        agent = Agent(name="clerk", model=self.model, tools=[fetch, *([load_artifacts] if load else [])])
        self.runner = Runner(
            agent=agent,
            app_name="desk",
            session_service=self.sessions,
            artifact_service=artifacts,
            auto_create_session=True,
            composition=compose(distribution),
        )

    def run(self) -> list[Event]:
        async def main() -> list[Event]:
            run: AsyncIterator[Event] = self.runner.run_async(user_id="ada", session_id="s1", new_message="go")
            return [event async for event in run]

        return asyncio.run(main())

    def response(self) -> tuple[Event, Any]:
        (event,) = [one for one in self.run() if any(r.name == "fetch" for r in one.get_function_responses())]
        return event, event.get_function_responses()[0].response


@pytest.mark.parametrize(
    ("result", "mime_type", "suffix"),
    [
        ("ä" * 150_000, "text/plain", ".txt"),  # 300 KB in as many characters as an event may have
        ("x" * 270_000, "text/plain", ".txt"),
        ({"rows": [{"n": n, "text": "x" * 90} for n in range(3_000)]}, "application/json", ".json"),
        ([["x" * 1_000]] * 300, "application/json", ".json"),
    ],
    ids=["bytes", "characters", "dict", "list"],
)
def test_a_large_result_is_kept_and_its_reference_is_short(result: Any, mime_type: str, suffix: str) -> None:
    store = InMemoryArtifactService()
    event, response = Desk(result, store).response()
    name = response["artifact"]
    part = asyncio.run(store.load_artifact(**WHERE, filename=name))
    assert part is not None
    assert part.inline_data is not None
    assert part.inline_data.data is not None
    text = part.inline_data.data.decode()
    assert (text if isinstance(result, str) else json.loads(text)) == result
    assert part.inline_data.mime_type == response["mime_type"] == mime_type
    assert response["bytes"] == len(part.inline_data.data)
    assert name.startswith("tool_results/fetch-")
    assert name.endswith(suffix)
    assert event.actions.artifact_delta == {name: response["version"]} == {name: 0}
    assert "load_artifacts" in response["note"]
    assert len(event.model_dump_json()) < 3_000
    version = asyncio.run(store.get_artifact_version(**WHERE, filename=name))
    assert version is not None
    assert version.custom_metadata == {"tool": "fetch"}


def test_the_model_reads_it_with_load_artifacts() -> None:
    def asked(request: Any) -> FunctionCall:
        response = request.contents[-1].parts[-1].function_response.response
        return FunctionCall(name="load_artifacts", args={"artifact_names": [response["artifact"]]})

    desk = Desk("needle" + "x" * 300_000, InMemoryArtifactService(), load=asked)
    desk.run()
    shown = "".join(part.text or "" for content in desk.model.requests[-1].contents for part in content.parts or ())
    assert "needle" + "x" * 300_000 in shown


@pytest.mark.parametrize("artifacts", [None, InMemoryArtifactService()], ids=["without", "with"])
def test_what_is_small_stays_where_it_is(artifacts: Any) -> None:
    result = {"text": "x" * 95_000}
    event, response = Desk(result, artifacts).response()
    assert response == result
    assert event.actions.artifact_delta == {}


def test_without_an_artifact_service_its_middle_is_cut() -> None:
    _, response = Desk({"text": "begin" + "x" * 300_000 + "end"}).response()
    assert response["text"].startswith("begin")
    assert response["text"].endswith("end")
    assert "more characters were left out" in response["text"]
    assert len(json.dumps(response)) <= 100_000


class Full(InMemoryArtifactService):
    """A store without room."""

    async def save_artifact(self, **call: Any) -> int:
        raise OSError("no space left")


def test_what_cannot_be_kept_is_cut_and_told(caplog: pytest.LogCaptureFixture) -> None:
    _, response = Desk({"text": "x" * 300_000}, Full()).response()
    assert "more characters were left out" in response["text"]
    assert "the result of the tool 'fetch' is cut, because it cannot be kept: no space left" in caplog.text


def test_a_failure_is_never_hidden_in_an_artifact() -> None:
    _, response = Desk({"error": "x" * 300_000}, InMemoryArtifactService()).response()
    assert response["error"].startswith("xxx")


def test_the_bound_is_a_setting(tmp_path: Path) -> None:
    def settings(above: int) -> Path:
        file = tmp_path / f"{above}.yaml"
        file.write_text(f"name: mine\nextends: standard\nsettings: {{tool_results: {{artifact_above: {above}}}}}\n")
        return file

    store = InMemoryArtifactService()
    _, response = Desk("x" * 2_000, store, settings(1_000)).response()
    assert response["bytes"] == 2_000
    _, response = Desk("x" * 300_000, store, settings(0)).response()
    assert "more characters were left out" in response["result"]


@pytest.mark.parametrize("distribution", ["adk", "minimal"])
def test_other_distributions_leave_results_as_they_are(distribution: str) -> None:
    _, response = Desk("x" * 300_000, InMemoryArtifactService(), distribution).response()
    assert response == {"result": "x" * 300_000}
