"""`newel eval` and `newel eval_set`, as people and CI call them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from newel.cli.evaluation.output import say_how_to_resume

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
AGENT = """
    import asyncio
    from newel.agents import LlmAgent
    from newel.models import BaseLlm
    from newel_kernel import LlmResponse
    from newel_types import Content, Part

    class Echo(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            text = llm_request.contents[-1].parts[-1].text
            if text == "hang":
                print("hanging", flush=True)
                await asyncio.Event().wait()
            yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))

    root_agent = LlmAgent(name="echo", model=Echo(model="echo"))
"""


def turn(text: str, answer: str) -> dict[str, Any]:
    return {
        "user_content": {"role": "user", "parts": [{"text": text}]},
        "final_response": {"parts": [{"text": answer}]},
    }


def a_set(set_id: str, **cases: tuple[str, str] | dict[str, Any]) -> str:
    return json.dumps(
        {
            "eval_set_id": set_id,
            "eval_cases": [
                {"eval_id": name, "conversation": [turn(*one)]} if isinstance(one, tuple) else {"eval_id": name, **one}
                for name, one in cases.items()
            ],
        }
    )


@pytest.fixture
def app(project: Any) -> Any:
    project.write("demo/agent.py", AGENT)
    project.write("demo/good.evalset.json", a_set("good", a=("one", "one"), b=("two", "two")))
    project.write("demo/mixed.evalset.json", a_set("mixed", a=("one", "one"), b=("two", "three")))
    return project


def test_the_status_says_what_became_of_the_run(app: Any) -> None:
    for sets, status, summary in (
        (["good"], 0, "good:\n  Tests passed: 2\n  Tests failed: 0"),
        (["good", "mixed:a"], 0, "mixed:\n  Tests passed: 1\n  Tests failed: 0"),
        (["mixed"], 1, "mixed:\n  Tests passed: 1\n  Tests failed: 1"),
        (["demo/mixed.evalset.json:a"], 0, "mixed:\n  Tests passed: 1\n  Tests failed: 0"),
    ):
        result = app.newel("eval", "./demo", *sets)
        assert (result.exit_code, summary in result.stdout) == (status, True), result.output
    assert len(list((app.path / "demo" / ".adk" / "eval_history").glob("*.evalset_result.json"))) == 5


def test_17_what_cannot_be_evaluated_has_a_status_of_its_own(app: Any) -> None:
    criterion = {"threshold": 0.5, "judge_model_options": {"judge_model": "echo:", "num_samples": 1}}
    app.write("config.json", json.dumps({"criteria": {"final_response_match_v2": criterion}}))
    result = app.newel("eval", "./demo", "good", "--config_file_path", "config.json")
    assert (result.exit_code, "Could not be evaluated: 2" in result.stdout) == (2, True)
    assert app.newel("eval", "./demo", "good", "--config", "config.json", "--allow-unevaluated").exit_code == 0
    app.write("config.json", json.dumps({"criteria": {"final_response_match_v2": criterion, "max_words": 0}}))
    assert app.newel("eval", "./demo", "good", "--config", "config.json").exit_code == 1


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        ("no-such-model", "the judge 'no-such-model' cannot be asked: unknown model 'no-such-model'"),
        # No other test asks this one: a model that was made once, with a key, stays.
        ("gemini-judge", "the judge 'gemini-judge' cannot be asked: .* needs an API key: set GOOGLE_API_KEY"),
    ],
)
@pytest.mark.parametrize("metric", ["final_response_match_v2", "hallucinations_v1"])
def test_a_judge_that_nobody_can_ask_is_told_once_and_nothing_runs(
    metric: str, judge: str, says: str, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    options = {"threshold": 0.5, "judge_model_options": {"judge_model": judge}}
    app.write("config.json", json.dumps({"criteria": {metric: options, "response_match_score": 0.5}}))
    said = app.refused("eval", "./demo", "good", "--config", "config.json")
    assert re.search(f"the config: {metric}: {says}", said), said
    assert said.count(judge) == 2
    assert not (app.path / "demo" / ".adk").exists()


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["./nowhere", "good"], 2, "there is no agent './nowhere'"),
        (["./demo", "god"], 1, "nor an eval set of that id in .*did you mean 'good'"),
        (["./demo", "good:c"], 1, "has no case 'c'"),
        (["./demo", "good", "--config", "none.json"], 1, "no config file none.json"),
        (["./demo", "good", "--case", "zz*"], 1, "no case to run"),
        (["./demo", "good", "--rate-limit", "60"], 2, "not of the form MODEL=60"),
        (["./demo", "good", "--resume", "x"], 1, "no run x"),
        (["./demo", "good", "--eval_storage_uri", "s3://b"], 2, "no plugin provides the storage .*there are: gs:"),
        (["./demo", "good", "--cassette", "replay"], 2, "record one with --cassette record"),
    ],
)
def test_bad_input_is_one_line(args: list[str], status: int, says: str, app: Any) -> None:
    said = app.refused("eval", *args, status=status)
    assert re.search(says, said), said


def test_a_set_that_is_wrong_says_where(app: Any) -> None:
    app.write(
        "demo/wrong.evalset.json", '{"eval_set_id": "wrong", "eval_cases": [{"eval_id": "a", "conversation": [{}]}]}'
    )
    assert "eval_cases.0.conversation.0." in app.refused("eval", "./demo", "wrong")
    app.write("config.json", '{"criteria": {"rouge": 1}}')
    assert "no metric 'rouge' is installed" in app.refused("eval", "./demo", "good", "--config", "config.json")


@pytest.mark.parametrize(
    ("criteria", "says"),
    [
        (
            '{"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SOMEHOW"}}',
            "match_type: Input should be 0, 1",
        ),
        (
            '{"response_match_score": "high"}',
            "criteria.response_match_score: write a number, the threshold, or an object",
        ),
        ('{"response_match_score": {"treshold": 1}}', "criteria.response_match_score: write a number, the threshold"),
        ('{"regex": "("}', "criteria.regex: write a number"),
        ('{"regex": {"value": "("}}', "the value of regex is not a pattern"),
        (
            '{"final_response_match_v2": {"threshold": 1, "judge_model_options": {"samples": 1}}}',
            "samples: Extra inputs",
        ),
        ('{"safety_v1": {"threshold": 1, "backend": "vertex"}}', "set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"),
    ],
)
def test_a_criterion_of_the_wrong_type_is_said_before_the_first_case(
    criteria: str, says: str, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    app.write("config.json", f'{{"criteria": {criteria}}}')
    assert says in app.refused("eval", "./demo", "good", "--config", "config.json")


def test_18_a_budget_stops_and_the_printed_command_goes_on(app: Any) -> None:
    app.write("demo/long.evalset.json", a_set("long", **{f"c{n}": ("x", "x") for n in range(5)}))
    done = app.process("eval", "./demo", "long", "--max-seconds", "0.000001", "--parallelism", "1")
    assert (done.returncode, "continue with: newel eval" in done.stderr) == (2, True), done.stderr
    run = done.stderr.strip().rpartition("--resume=")[2].strip("'")
    again = app.newel("eval", "./demo", "long", f"--resume={run}")
    assert (again.exit_code, "Tests passed: 5" in again.stdout) == (0, True), again.output


def test_27_an_interrupted_run_ends_soon_and_can_be_resumed(app: Any) -> None:
    app.write("demo/slow.evalset.json", a_set("slow", a=("one", "one"), b=("hang", "x")))
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "newel.cli.main", "eval", "./demo", "slow", "--parallelism", "1"],
        cwd=app.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    took = time.monotonic() - began
    assert process.returncode == 130
    assert "slow/a: passed" in said
    assert "--resume=" in said
    assert took < 20  # two seconds on an idle machine
    app.write("demo/agent.py", AGENT.replace('"hang"', '"no more"'))
    run = said.strip().rpartition("--resume=")[2].strip("'")
    again = app.process("eval", "./demo", "slow", f"--resume={run}")
    assert again.returncode == 1
    assert "slow/a: passed" not in again.stderr
    assert "Tests passed: 1" in again.stdout


def test_a_full_disk_is_one_line_and_the_run_can_be_resumed(app: Any) -> None:
    app.write("demo/long.evalset.json", a_set("long", **{f"c{n}": ("x", "x") for n in range(12)}))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000));"
        "from newel.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, "eval", "./demo", "long"],
        cwd=app.path,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "free some space and continue with --resume" in done.stderr
    (run,) = (app.path / "demo" / ".adk" / "eval_runs").iterdir()
    again = app.newel("eval", "./demo", "long", "--resume", str(run))
    assert (again.exit_code, "Tests passed: 12" in again.stdout) == (0, True), again.output


def test_details_and_reports(app: Any) -> None:
    result = app.newel("eval", "./demo", "mixed", "--details")
    assert "Metric: response_match_score, Status: FAILED, Score: 0.0, Threshold: 0.8" in result.stdout
    (run,) = (app.path / "demo" / ".adk" / "eval_runs").iterdir()
    assert app.newel("eval", "report", str(run), "--markdown", "-o", "-").stdout.startswith("# Evaluation demo_")
    written = app.newel("eval", "report", str(run), "--html", "--junit").stdout.split()
    assert [Path(name).suffix for name in written] == [".html", ".xml"]
    assert app.newel("eval", "report", str(run)).exit_code == 2
    (stored,) = (app.path / "demo" / ".adk" / "eval_history").iterdir()
    assert '"outcome": "failed"' in app.newel("eval", "report", str(stored), "--jsonl", "-o", "-").stdout


def test_15_a_comparison_is_a_gate(app: Any) -> None:
    cases = {f"c{n}": (f"word{n}", f"word{n}") for n in range(10)}
    app.write("demo/many.evalset.json", a_set("many", **cases))
    assert app.newel("eval", "./demo", "many").exit_code == 0
    app.write("demo/many.evalset.json", a_set("many", **{name: (said, "other") for name, (said, _) in cases.items()}))
    assert app.newel("eval", "./demo", "many").exit_code == 1
    old, new = sorted(map(str, (app.path / "demo" / ".adk" / "eval_history").iterdir()))
    result = app.newel("eval", "compare", old, new)
    assert result.exit_code == 1
    assert "regressed: pass rate" in result.stdout
    assert "regressions: many/c0" in result.stdout
    assert app.newel("eval", "compare", old, old).exit_code == 0


def test_23_metrics_of_a_package_are_listed_with_their_origin(app: Any) -> None:
    code = """
        from newel.evaluation.kinds import Metric
        from newel_kernel import hookimpl

        @hookimpl
        def register_metrics():
            return [Metric(name="brevity", load=lambda: None, description="Short answers.")]
    """
    app.install("newel-brevity", {}, {"newel_brevity": code})
    points = app.site / "newel_brevity-1.0.dist-info" / "entry_points.txt"
    points.write_text("[newel.evaluation]\nbrevity = newel_brevity\n")
    done = app.process("eval", "metrics")
    assert any("brevity" in line and "newel-brevity 1.0" in line for line in done.stdout.splitlines()), done.stdout


def test_a_model_invents_cases(app: Any) -> None:
    scenario = {"starting_prompt": "hello", "conversation_plan": "greet"}
    answer = json.dumps({"scenarios": [scenario, {**scenario, "starting_prompt": "good day"}]})
    app.write("invented.yaml", json.dumps({"steps": [{"text": f"Here they are: {answer}"}]}))
    config = app.write("config.json", json.dumps({"count": 2, "model_name": "script:invented.yaml"}))
    assert app.newel("eval_set", "create", "./demo", "new").exit_code == 0
    args = ("eval_set", "generate_eval_cases", "./demo", "new", "--user_simulation_config_file", str(config))
    result = app.newel(*args)
    assert result.stdout.count("added to eval set 'new'") == 2, result.output
    app.write("invented.yaml", json.dumps({"steps": [{"text": "no idea"}]}))
    done = app.process(*args)
    assert (done.returncode, "gave no scenarios" in done.stderr) == (2, True), done.stderr


def test_22_cases_from_sessions(app: Any) -> None:
    app.process("run", "./demo", "my mail is ann@example.org", "--session", "s1")
    result = app.process("eval_set", "from-session", "./demo", "recorded", "--session", "s*", "--tag", "real")
    assert result.stdout == "Eval case 'session_s1' added to eval set 'recorded'.\n"
    text = (app.path / "demo" / "recorded.evalset.json").read_text()
    assert "ann@example.org" not in text
    assert "[mail]" in text
    assert app.process("eval", "./demo", "recorded").returncode == 0
    nothing = app.process("eval_set", "from-session", "./demo", "recorded", "--session", "zz")
    assert (nothing.returncode, "no such session" in nothing.stderr) == (1, True)


@pytest.mark.parametrize("reference", ["weather/basics", "travel/trips"])
def test_the_examples_pass_their_sets_offline(reference: str, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    folder, _, name = reference.partition("/")
    shutil.copytree(EXAMPLES / folder, project.path / folder)
    result = project.process("eval", f"./{folder}", f"{folder}/{name}.evalset.json")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_metric_that_the_distribution_leaves_out_is_traced_to_its_package(app: Any) -> None:
    code = """
        from newel.evaluation.kinds import Metric
        from newel_kernel import hookimpl

        @hookimpl
        def register_metrics():
            return [Metric(name="brevity", load=lambda: None)]
    """
    app.install("newel-brevity", {"brevity": "newel_brevity"}, {"newel_brevity": code})
    app.write("newel.yaml", "name: mine\nextends: standard\ndisable: [brevity]\n")
    app.write("config.json", '{"criteria": {"brevity": 1}}')
    done = app.process("eval", "./demo", "good", "--config", "config.json")
    assert done.returncode == 2
    assert "newel-brevity 1.0 brings it with its plugin 'brevity', which the distribution 'mine' dis" in done.stderr


def test_a_file_that_nobody_reads_names_who_would(app: Any) -> None:
    app.write("s.jsonl", '{"input": "hi"}')
    assert "pip install newel-importers" in app.refused("eval", "./demo", "s.jsonl")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("s.evalset.json", b"\n\xff\xfe", "s.evalset.json:2: the file is not UTF-8"),
        ("s.evalset.json", b'[{"name": "a"}]', "s.evalset.json: s[0]: a case of the older format"),
        ("config.json", b"\xff", "config.json:1: the file is not UTF-8"),
        ("config.json", b'{"criteria": {"response_match_score": NaN}}', "threshold: Input should be a finite"),
        (
            "config.json",
            b'{"criteria": {"json_schema": {"value": {"type": "strin"}}}}',
            "is not a JSON schema: $.type: ",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_place(file: str, text: bytes, says: str, app: Any) -> None:
    app.write("s.evalset.json", a_set("s", a=("one", "one")))
    app.write("config.json", '{"criteria": {"response_match_score": 1}}')
    (app.path / file).write_bytes(text)
    assert says in app.refused("eval", "./demo", "s.evalset.json", "--config", "config.json")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--max-cost", "nan", "max_cost: Input should be greater than 0"),
        ("--case-timeout", "-1", "case_timeout: Input should be greater than 0"),
        ("--rate-limit", "m=0", "per_minute: Input should be greater than or equal to 1"),
        ("--rate-limit", "m", "is not of the form MODEL=60"),
    ],
)
def test_an_option_that_cannot_be_is_refused(option: str, value: str, says: str, app: Any) -> None:
    assert says in app.refused("eval", "./demo", "good", option, value)


@pytest.mark.parametrize("set_id", ["../../evil", "a\0b\n", "x" * 300, "天" * 100])
def test_25_a_set_writes_nothing_outside_its_folder(set_id: str, app: Any) -> None:
    app.write("odd.evalset.json", a_set(set_id, **{"../x": ("one", "one")}))

    def others() -> set[Path]:  # compiled code is the interpreter's
        found = app.path.parent.rglob("*")
        return {path for path in found if not {".adk", "__pycache__"}.intersection(path.parts)}

    before = others()
    done = app.newel("eval", "./demo", "odd.evalset.json")
    assert done.exit_code == 0, done.output
    assert others() == before
    (file,) = (app.path / "demo" / ".adk" / "eval_history").iterdir()
    assert json.loads(file.read_text())["eval_set_id"] == set_id


def test_a_full_disk_keeps_what_is_finished_and_prints_the_command_that_goes_on(app: Any) -> None:
    app.write("demo/long.evalset.json", a_set("long", **{f"c{n}": ("word " * 400, "x") for n in range(12)}))
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); " + (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from newel.cli.main import main; main()"
    )
    command = [sys.executable, "-c", limited, "eval", "./demo", "long", "--parallelism", "1"]
    done = subprocess.run(command, cwd=app.path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be written: File too large" in done.stderr
    finished = done.stderr.count("long/c")
    assert 0 < finished < 12
    run = done.stderr.strip().rpartition("--resume=")[2].strip("'")
    again = app.process("eval", "./demo", "long", f"--resume={run}")
    assert again.stderr.count("long/c") == 12 - finished
    assert "Tests failed: 12" in again.stdout


@pytest.mark.parametrize("resumed", [[], ["--resume", "old.run.jsonl"], ["--resume=old.run.jsonl"]])
def test_the_command_that_goes_on_names_one_run(
    resumed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["newel", "eval", *resumed, "./demo", "my set"])
    say_how_to_resume(Path("new.run.jsonl"), "interrupted")
    assert capsys.readouterr().err.splitlines() == [
        "interrupted; everything finished so far is in new.run.jsonl",
        "continue with: newel eval ./demo 'my set' --resume=new.run.jsonl",
    ]
