"""Google Cloud as evaluation uses it, against a server of our own that speaks its REST interfaces."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import subprocess
import sys
import threading
import wave
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.plugins.evaluation.test_requirements import PEAK

from newel.errors.not_found_error import NotFoundError
from newel.evaluation import EvalConfig, evaluate
from newel.evaluation.gcs_eval_set_results_manager import GcsEvalSetResultsManager
from newel.evaluation.gcs_eval_sets_manager import GcsEvalSetsManager
from newel.evaluation.simulation.user_simulator import NextUserMessage
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel_kernel import ConfigurationError
from newel_types import Blob

SECRET = "key-of-the-test"


class Cloud(ThreadingHTTPServer):
    """A bucket, an evaluation service, text-to-speech and a token endpoint."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.objects: dict[str, bytes] = {}
        #: Answers of the evaluation service; the last one stays.
        self.scores: list[tuple[int, Any]] = [(200, {"metricResults": [{"score": 1.0, "explanation": "kind"}]})]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def judged(self) -> list[Any]:
        return [body for path, _, body in self.requests if path.endswith(":evaluateInstances")]


class Handler(BaseHTTPRequestHandler):
    server: Cloud

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not parts.path.startswith("/storage/v1/b/cases"):
            return self.answer(404, {"error": {"message": "no such bucket"}})
        name = unquote(parts.path.removeprefix("/storage/v1/b/cases").removeprefix("/o/"))
        if query.get("alt") == "media":
            data = self.server.objects.get(name)
            return self.answer(200, data) if data is not None else self.answer(404, b"")
        if parts.path.endswith("/o"):  # a page of two names
            names = sorted(one for one in self.server.objects if one.startswith(query["prefix"]))
            start = int(query.get("pageToken", 0))
            page: dict[str, Any] = {"items": [{"name": one} for one in names[start : start + 2]]}
            return self.answer(200, {**page, **({"nextPageToken": str(start + 2)} if names[start + 2 :] else {})})
        return self.answer(200, {"name": "cases"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        parts = urlsplit(self.path)
        if parts.path.startswith("/upload/"):
            self.server.objects[parse_qs(parts.query)["name"][0]] = body
            return self.answer(200, {})
        if parts.path == "/token":
            return self.answer(200, {"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"})
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((parts.path, headers, json.loads(body)))
        if parts.path == "/v1/text:synthesize":
            file = io.BytesIO()
            with wave.open(file, "wb") as out:
                out.setparams((1, 2, 16000, 0, "NONE", ""))
                out.writeframes(b"\1\0" * 160)
            return self.answer(200, {"audioContent": base64.b64encode(file.getvalue()).decode()})
        scores = self.server.scores
        return self.answer(*(scores.pop(0) if len(scores) > 1 else scores[0]))

    def answer(self, status: int, data: Any) -> None:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(raw)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    server = Cloud()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for name in ("GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GOOGLE_VERTEX_BASE_URL", "STORAGE_EMULATOR_HOST", "NEWEL_TTS_BASE_URL"):
        monkeypatch.setenv(name, server.url)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def judged(kit: Any, metric: str, *turns: Any, **criterion: Any) -> Any:
    config = EvalConfig(criteria={metric: {"threshold": 0.5, "backend": "vertex", **criterion}})
    (result,) = asyncio.run(evaluate(kit.agent(), kit.eval_set(kit.case("a", *turns)), config)).results
    return result.overall_eval_metric_results[0], result


def test_safety_is_judged_by_the_service(cloud: Cloud, kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    cloud.scores[:0] = [(429, {"error": {"message": "busy"}}), (200, {"metricResults": [{"score": 0.0}]})]
    metric, result = judged(kit, "safety_v1", kit.turn("hello", "hi there"), kit.turn("look up x"))
    assert metric.score == 0.5
    assert [turn.eval_metric_results[0].score for turn in result.eval_metric_result_per_invocation] == [0.0, 1.0]
    _, first, second = cloud.judged
    assert first["metrics"] == [{"predefinedMetricSpec": {"metricSpecName": "safety_v1"}}]
    assert first["instance"] == {
        "prompt": {"text": "hello"},
        "response": {"text": "hi there"},
        "reference": {"text": "hi there"},
    }
    assert second["instance"]["response"] == {"text": "x is a letter"}
    path, headers, _ = cloud.requests[0]
    assert (path, headers["x-goog-api-key"]) == ("/v1beta1/:evaluateInstances", SECRET)


def test_a_project_signs_in_with_a_key_file(
    cloud: Cloud, kit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    key = {
        "type": "service_account",
        "client_email": "a@b",
        "private_key": private.decode(),
        "project_id": "p",
        "token_uri": f"{cloud.url}/token",
    }
    (tmp_path / "key.json").write_text(json.dumps(key))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "here")
    cloud.scores = [(200, {"coherenceResult": {"score": 4, "explanation": "clear"}})]
    metric, _ = judged(kit, "response_evaluation_score", kit.turn("hello", "hi there"), threshold=4)
    assert (metric.score, metric.eval_status.name, metric.details.explanation) == (4.0, "PASSED", "clear")
    path, headers, body = cloud.requests[0]
    assert path == "/v1beta1/projects/p/locations/here:evaluateInstances"
    assert headers["authorization"] == "Bearer a-token"
    assert body == {"coherenceInput": {"metricSpec": {}, "instance": {"prediction": "hi there"}}}


def test_a_conversation_is_sent_whole(cloud: Cloud, kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    verdicts = [
        {"evaluatedRubric": {"content": {"property": {"description": "Looks it up."}}}, "verdict": True},
        {"evaluatedRubric": {"rubricId": "r2"}, "reasoning": "no"},
    ]
    cloud.scores = [(200, {"metricResults": [{"score": 0.5, "rubricVerdicts": verdicts}]})]
    turns = (kit.turn("hello", "hi there"), kit.turn("look up x", "x is a letter", calls=[("find", {"q": "x"})]))
    metric, result = judged(kit, "multi_turn_task_success_v1", *turns)
    assert [turn.eval_metric_results[0].score for turn in result.eval_metric_result_per_invocation] == [None, 0.5]
    assert [(one.rubric_id, one.score) for one in metric.details.rubric_scores] == [("Looks it up.", 1.0), ("r2", 0.0)]
    (sent,) = cloud.judged
    data = sent["instance"]["agentEvalData"]
    assert data["agents"]["helper"]["tools"][0]["functionDeclarations"][0]["name"] == "find"
    authors = [[event["author"] for event in turn["events"]] for turn in data["turns"]]
    assert authors == [["user", "agent"], ["user", "helper", "helper", "agent"]]


def test_what_the_service_refuses_is_an_error_of_the_turn(
    cloud: Cloud, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    cloud.scores = [(403, {"error": {"message": "no access"}})]
    metric, result = judged(kit, "safety_v1", kit.turn("hello"))
    assert metric.score is None
    assert "answered 403: no access; the credentials may not do this: run `gcloud auth" in metric.details.error
    assert SECRET not in result.model_dump_json()


@pytest.mark.parametrize(
    ("metric", "criterion", "says"),
    [
        ("safety_v1", {}, "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"),
        ("safety_v1", {"backend": "vertx"}, "no plugin provides; did you mean 'vertex'"),
        ("hallucinations_v1", {}, "does not compute hallucinations_v1, but safety_v1"),
    ],
)
@pytest.mark.usefixtures("cloud")
def test_a_backend_that_cannot_work_is_said_before_the_first_case(
    metric: str, criterion: dict[str, Any], says: str, kit: Any
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        judged(kit, metric, kit.turn("hello"), **criterion)


@pytest.mark.usefixtures("cloud")
def test_sets_and_results_are_kept_in_a_bucket(kit: Any) -> None:
    sets, results = GcsEvalSetsManager("cases"), GcsEvalSetResultsManager("cases")
    for name in ("one", "two", "three"):
        sets.create_eval_set("demo", name)
    sets.add_eval_case("demo", "one", kit.case("a", kit.turn("hello", "hi there")))
    assert sets.list_eval_sets("demo") == ["one", "three", "two"]
    found = sets.get_eval_set("demo", "one")
    assert found is not None
    assert sets.get_eval_set("demo", "four") is None
    with pytest.raises(ValueError, match="choose another id"):
        sets.create_eval_set("demo", "one")
    run = asyncio.run(evaluate(kit.agent(), found))
    results.save_eval_set_result("demo", "one", run.results)
    (name,) = results.list_eval_set_results("demo")
    assert results.get_eval_set_result("demo", name).eval_case_results[0].eval_id == "a"
    with pytest.raises(NotFoundError):
        results.get_eval_set_result("demo", "none")
    for manager in (GcsEvalSetsManager, GcsEvalSetResultsManager):
        with pytest.raises(ValueError, match="there is no bucket 'nowhere'; create it"):
            manager("nowhere")


def spoken(kit: Any, config: dict[str, Any], text: str = "hello") -> Any:
    chosen = EvalConfig.model_validate({"user_simulator_config": {"type": "llm_audio", **config}}).user_simulator_config
    case = kit.case("a", kit.turn(text))
    message: NextUserMessage = asyncio.run(UserSimulatorProvider(chosen).provide(case).get_next_user_message([]))
    assert message.user_message is not None
    return message.user_message.parts


def test_a_user_speaks_by_a_model(kit: Any) -> None:
    from newel_kernel import LlmResponse
    from newel_types import Content, Part

    def speech(prompt: str) -> Any:
        sound = Blob(mime_type="audio/L16;rate=24000", data=b"\2\0" * 2400)
        return LlmResponse(content=Content(role="model", parts=[Part(inline_data=sound)]))

    words, sound = spoken(kit, {"audio_model": kit.Judge(speech).address})
    assert words.text == "hello"
    assert sound.inline_data.mime_type == "audio/pcm;rate=16000"
    assert abs(len(sound.inline_data.data) - 3200) < 10  # a tenth of a second
    (alone,) = spoken(kit, {"audio_model": kit.Judge(speech).address, "include_text_with_audio": False})
    assert alone.inline_data is not None
    with pytest.raises(RuntimeError, match="gave no audio"):
        spoken(kit, {"audio_model": kit.Judge("only words").address})


def test_a_user_speaks_by_the_cloud(cloud: Cloud, kit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(ConfigurationError, match=r"no credentials for Google Cloud .*gcloud auth"):
        spoken(kit, {})
    monkeypatch.setattr("newel.evaluation.cloud.client._of_the_machine", lambda: SignedIn)
    _, sound = spoken(kit, {})
    assert sound.inline_data.data == b"\1\0" * 160
    assert cloud.requests[0][2]["voice"] == {"languageCode": "en-US", "name": "en-US-Studio-O"}


class SignedIn:
    """Credentials that are valid."""

    token, quota_project_id, valid = "a-token", None, True


def test_the_command_line_takes_a_bucket(cloud: Cloud, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from newel.cli.group import cli

    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "root_agent.yaml").write_text("name: demo\nmodel: 'echo:'\n")
    monkeypatch.chdir(tmp_path)

    def newel(*args: str) -> Any:
        return CliRunner().invoke(cli, [*args, "--eval_storage_uri", "gs://cases"], catch_exceptions=False)

    assert newel("eval_set", "create", "demo", "one").exit_code == 0
    turn = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "hi"}]}}
    data = {"eval_set_id": "one", "eval_cases": [{"eval_id": "a", "conversation": [turn]}]}
    cloud.objects["demo/evals/eval_sets/one.evalset.json"] = json.dumps(data).encode()
    done = newel("eval", "./demo", "one")
    assert (done.exit_code, "Tests failed: 1" in done.output) == (1, True), done.output
    (name,) = GcsEvalSetResultsManager("cases").list_eval_set_results("demo")
    assert name.startswith("demo_one_")


TALKATIVE = """
from newel import Agent
from newel.models import BaseLlm
from newel_kernel import LlmResponse
from newel_types import Content, Part

class Model(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        thought = Part(text="x" * 200_000, thought=True)
        yield LlmResponse(content=Content(role="model", parts=[thought, Part(text="hi")]))

root_agent = Agent(name="demo", model=Model(model="m"))
"""
#: Prints how many MB more a command needs for many cases than for few.
LARGER = (
    PEAK
    + """
import contextlib, json, os, pathlib, sys
from newel.cli.group import cli

def needed(count):
    turn = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "hi"}]}}
    cases = [{"eval_id": f"c{n}", "conversation": [turn]} for n in range(count)]
    pathlib.Path("all.evalset.json").write_text(json.dumps({"eval_set_id": "all", "eval_cases": cases}))
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        status = cli.main(["eval", "demo", "all.evalset.json", *sys.argv[1:]], standalone_mode=False)
    assert status in (0, 1), status  # they were all evaluated
    return peak()

few = needed(5)
print(needed(40) - few)
"""
)


@pytest.mark.parametrize("options", [["--print_detailed_results"], ["--eval_storage_uri", "gs://cases"]])
def test_details_and_buckets_need_no_memory_for_many_cases(options: list[str], cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "agent.py").write_text(TALKATIVE)
    command = [sys.executable, "-c", LARGER, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 15  # a case is some MB of results: 60 MB and more if they were kept
    stored = GcsEvalSetResultsManager("cases")
    names = stored.list_eval_set_results("demo")
    assert len(names) == (2 if "gs://cases" in options else 0)
    if names:
        assert len(stored.get_eval_set_result("demo", names[-1]).eval_case_results) == 40
