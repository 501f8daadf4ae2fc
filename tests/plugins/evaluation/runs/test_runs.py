"""Requirements on runs, each test named after its number: durable, repeatable, limited, resumable."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from newel.evaluation import EvalCase, evaluate
from newel.evaluation.eval_config import EvalConfig
from newel.evaluation.eval_metrics import EvalStatus
from newel.evaluation.metrics.criteria import BaseCriterion, LlmAsAJudgeCriterion
from newel.evaluation.runs.limits import Limiter, Limits, retry_delay
from newel.evaluation.runs.options import Budget, RateLimit, RunOptions
from newel.evaluation.runs.run_file import records
from newel.models import BaseLlm, LLMRegistry
from newel_kernel import ConfigurationError, LlmResponse, ModelError
from newel_types import Content, GenerateContentResponseUsageMetadata, Part

MATCH = EvalConfig(criteria={"response_match_score": 0.8})
KEY = "sk-abcdefghijklmnopqrstuvwx"


def run(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(evaluate(*args, **kwargs))


def hello(kit: Any, *names: str, **fields: Any) -> Any:
    return kit.eval_set(*(kit.case(name, kit.turn("hello", "hi there"), **fields) for name in names))


def child(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


OFFLINE = """
    import socket, sys

    def refuse(*_, **__):
        raise AssertionError("a socket was opened")

    socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
    import asyncio
    from newel.agents import LlmAgent
    from newel.evaluation import EvalCase, EvalConfig, EvalSet, Invocation, evaluate
    from newel.testing import ScriptedModel

    config = EvalConfig(criteria={"tool_trajectory_avg_score": 1, "response_match_score": 0, "max_tool_calls": 3})
    case = EvalCase(eval_id="c", conversation=[Invocation(user_content={"parts": [{"text": "hi"}]})])
    agent = LlmAgent(name="helper", model=ScriptedModel(["hello"]))
    run = asyncio.run(evaluate(agent, EvalSet(eval_set_id="s", eval_cases=[case]), config))
    assert run.passed
    heavy = ("google.genai", "anthropic", "openai", "litellm", "numpy", "pandas", "vertexai", "jinja2")
    print([name for name in heavy if name in sys.modules])
"""


def test_01_an_offline_run_opens_no_socket_and_imports_no_sdk() -> None:
    done = child(OFFLINE)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


@pytest.mark.usefixtures("frozen")
def test_02_two_runs_write_the_same_bytes_in_file_order(kit: Any, tmp_path: Path) -> None:
    async def slow_first(callback_context: Any) -> None:
        if callback_context.user_content.parts[0].text == "look up x":
            for _ in range(50):
                await asyncio.sleep(0)

    config = EvalConfig(criteria={"response_match_score": 0.8, "max_tool_calls": 9, "tool_trajectory_avg_score": 1.0})
    cases = kit.eval_set(kit.case("late", kit.turn("look up x")), *hello(kit, "b", "a").eval_cases)
    texts = []
    for name in ("one", "two"):
        done = run(kit.agent(before_agent_callback=slow_first), cases, config, run_file=tmp_path / name / "r.run.jsonl")
        names = [[one.metric_name for one in result.overall_eval_metric_results[:3]] for result in done.results]
        assert names == [list(config.criteria)] * 3
        texts.append(done.files["set1"].read_bytes())
        assert [unit.key[1] for unit in done.units] == ["late", "b", "a"]
        assert [json.loads(texts[-1])["eval_case_results"][n]["eval_id"] for n in range(3)] == ["late", "b", "a"]
    assert texts[0] == texts[1]


def test_03_rates_hold_under_a_fake_clock() -> None:
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async def calls(limit: RateLimit, count: int, tokens: float) -> list[float]:
        limiter = Limiter(limit, lambda: now[0], sleep)
        times = []
        for _ in range(count):
            async with limiter.slot() as call:
                times.append(now[0])
                call[1] = tokens
                now[0] += 1
        return times

    times = asyncio.run(calls(RateLimit(per_minute=3), 7, 0))
    assert all(later - earlier >= 60 for earlier, later in zip(times, times[3:], strict=False))
    now[0] = 0.0
    times = asyncio.run(calls(RateLimit(tokens_per_minute=250), 6, 100))
    assert times == [0.0, 1.0, 2.0, 60.0, 61.0, 62.0]


def test_03_cases_judges_and_samples_share_one_scheduler(kit: Any) -> None:
    running, most = 0, 0

    async def at_work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    class Judge(BaseLlm):
        @classmethod
        def supported_models(cls) -> list[str]:
            return ["test-slow-judge"]

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            await at_work()
            yield LlmResponse(content=kit.content('{"is_the_agent_response_valid": "valid"}'))

    LLMRegistry.register(Judge)
    options = {"judge_model": "test-slow-judge", "num_samples": 6, "parallelism_limit": 6}
    config = EvalConfig(criteria={"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}})
    cases = hello(kit, *"abcdef")
    agent = kit.agent(before_agent_callback=lambda callback_context: at_work())
    done = run(agent, cases, config, options=RunOptions(parallelism=3))
    assert done.passed
    assert most == 3


class Busy(Exception):
    status_code = 429

    def __init__(self, retry_after: float | None) -> None:
        super().__init__("busy")
        self.retry_after = retry_after


def test_03_a_busy_judge_is_asked_again_when_it_says_so(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        clock[0] += seconds
        await real(0)

    clock = [0.0]
    monkeypatch.setattr("newel.evaluation.runs.engine.Limits", lambda limits: Limits(limits, lambda: clock[0], sleep))
    judge = kit.Judge(Busy(17.0), Busy(None), '{"is_the_agent_response_valid": "valid"}')
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options())
    done = run(kit.agent(), hello(kit, "a"), EvalConfig(criteria={"final_response_match_v2": criterion}))
    assert done.passed
    assert waited == [17.0, 10.0]
    assert retry_delay(Busy(None), 7) is None
    assert retry_delay(ValueError(), 1) is None


KILLED = """
    import asyncio, os, pathlib, signal, sys
    from newel_kernel import seam
    seam.clock = lambda: 1_700_000_000.0
    seam.monotonic = lambda: 5.0
    from newel.agents import LlmAgent
    from newel.evaluation import EvalCase, EvalConfig, EvalSet, Invocation, evaluate
    from newel.evaluation.runs.run_file import RunFile
    from newel.models import BaseLlm
    from newel_kernel import LlmResponse
    from newel_types import Content, Part

    class Echo(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            yield LlmResponse(content=Content(role="model", parts=[Part(text="echo")]))

    # Where each process dies: at an append, at the n-th result that is folded (f60), or before the rename (f-1).
    path, deaths = sys.argv[1], sys.argv[2:]
    appended = folded = die_at = fold_at = 0
    whole = RunFile._append

    def append(self, record, durable=False):
        global appended
        appended += 1
        if appended == die_at:
            if die_at % 2:
                self._file.write(b'{"kind": "result", "set"')
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, record, durable)

    RunFile._append = append
    read, rename = RunFile.record, pathlib.Path.replace

    def record(self, key):
        global folded
        folded += 1
        if folded == fold_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(self, key)

    def replace(self, target):
        if fold_at < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    RunFile.record, pathlib.Path.replace = record, replace
    echo = {"parts": [{"text": "echo"}]}
    turns = [Invocation(user_content={"role": "user", "parts": [{"text": t}]}, final_response=echo)
             for t in ("one", "two")]
    agent = LlmAgent(name="helper", model=Echo(model="echo"))
    config = EvalConfig(criteria={"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0})

    def run(count, **options):
        cases = [EvalCase(eval_id=f"c{n}", conversation=turns) for n in range(count)]
        asyncio.run(evaluate(agent, EvalSet(eval_set_id="s", eval_cases=cases), config, **options))

    if deaths:
        run(1)  # so that the processes to kill find everything imported
    for death in deaths:
        die_at, fold_at = (0, int(death[1:])) if death.startswith("f") else (int(death), 0)
        if not (pid := os.fork()):
            run(100, run_file=path, resume=os.path.exists(path))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if not deaths:
        run(100, run_file=path, resume=os.path.exists(path))
"""


def test_04_a_run_that_is_killed_twenty_times_ends_as_one_that_is_not(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole" / "r.run.jsonl", tmp_path / "cut" / "r.run.jsonl"
    assert child(KILLED, str(whole)).returncode == 0
    killed = child(KILLED, str(cut), *(str(7 + 5 * number % 29) for number in range(20)))
    assert killed.stdout.split() == ["-9"] * 20, killed.stderr
    done = child(KILLED, str(cut))
    assert done.returncode == 0, done.stderr
    (one,), (other,) = (list(path.parent.glob("*.evalset_result.json")) for path in (whole, cut))
    assert one.read_bytes() == other.read_bytes()


def test_04_a_run_that_is_killed_while_it_writes_its_results_ends_as_one_that_is_not(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole" / "r.run.jsonl", tmp_path / "cut" / "r.run.jsonl"
    assert child(KILLED, str(whole)).returncode == 0
    # In the first run, then while a resumed run, which has read all hundred first, writes them, then before the rename.
    killed = child(KILLED, str(cut), "f60", "f101", "f160", "f200", "f-1")
    assert killed.stdout.split() == ["-9"] * 5, killed.stderr
    assert not list(cut.parent.glob("*.evalset_result.json"))
    done = child(KILLED, str(cut))
    assert done.returncode == 0, done.stderr
    (one,), (other,) = (list(path.parent.glob("*.evalset_result.json")) for path in (whole, cut))
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in cut.parent.iterdir()) == sorted([cut.name, other.name])


def test_04_a_resumed_run_asks_nothing_twice(kit: Any, tmp_path: Path) -> None:
    judge = kit.Judge('{"is_the_agent_response_valid": "valid"}')
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options())
    config = EvalConfig(criteria={"final_response_match_v2": criterion})
    path = tmp_path / "r.run.jsonl"
    done = run(kit.agent(), hello(kit, "a", "b"), config, run_file=path)
    lines = path.read_text().splitlines(keepends=True)
    results = [n for n, line in enumerate(lines) if '"kind":"result"' in line]
    path.write_text("".join(line for n, line in enumerate(lines) if n not in results))
    asked, agent = len(judge.prompts), kit.agent()
    again = run(agent, hello(kit, "a", "b"), config, run_file=path, resume=True)
    assert (len(judge.prompts), agent.model.requests) == (asked, [])
    assert [r.model_dump_json() for r in again.results] == [r.model_dump_json() for r in done.results]


def test_04_a_run_of_other_cases_is_not_resumed(kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.run.jsonl"
    run(kit.agent(), hello(kit, "a"), MATCH, run_file=path)
    with pytest.raises(ConfigurationError, match="other cases or metrics"):
        run(kit.agent(), hello(kit, "b"), MATCH, run_file=path, resume=True)
    with pytest.raises(ConfigurationError, match="resume it with --resume"):
        run(kit.agent(), hello(kit, "a"), MATCH, run_file=path)


def test_05_a_case_is_durable_before_the_next_result(kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.run.jsonl"
    stored: list[list[str]] = []

    def look(_: Any) -> None:
        stored.append([r["case"] for _, _, r in records(path) if r.get("kind") == "result"])

    done = run(
        kit.agent(), hello(kit, "a", "b", "c"), MATCH, run_file=path, on_result=look, options=RunOptions(parallelism=1)
    )
    assert stored == [["a"], ["a", "b"], ["a", "b", "c"]]
    assert done.files["set1"].parent == tmp_path


def test_06_stored_turns_are_judged_anew_without_the_agent(kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.run.jsonl"
    run(kit.agent(), hello(kit, "a"), MATCH, run_file=path)
    silent = kit.agent()
    config = EvalConfig(criteria={"contains": BaseCriterion.model_validate({"threshold": 1.0, "value": "there"})})
    for source in (path, next(tmp_path.glob("*.evalset_result.json"))):
        done = run(silent, hello(kit, "a"), config, reuse=source)
        assert done.passed
    assert silent.model.requests == []


def test_07_a_cassette_plays_a_run_without_models(kit: Any, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    table = {"hello": ["hi there"], "secret": [f"the key is {KEY}"]}
    cases = kit.eval_set(kit.case("a", kit.turn("hello", "hi there")), kit.case("b", kit.turn("secret", "x")))
    options = RunOptions(cassette="record", cassette_file=str(file), repeats=2)
    run(kit.agent(table), cases, MATCH, options=options)
    assert len(file.read_text().splitlines()) == 4  # a repeat is a sample of its own
    assert KEY not in file.read_text()
    silent = kit.agent({"hello": [RuntimeError("no")], "secret": [RuntimeError("no")]})
    done = run(silent, cases, MATCH, options=options.model_copy(update={"cassette": "replay"}))
    assert [unit.outcome for unit in done.units] == ["passed", "passed", "failed", "failed"]
    assert silent.model.requests == []
    other = kit.eval_set(kit.case("c", kit.turn("unheard", "x")))
    done = run(silent, other, MATCH, options=options.model_copy(update={"cassette": "replay"}))
    assert "no answer of 'answering' (agent, sample 0.0) to 'unheard'" in (done.results[0].error_message or "")


def test_07_judges_and_simulated_users_are_on_it_too(kit: Any, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    verdict = '{"is_the_agent_response_valid": "valid"}\u2028\u0085 half \ud800'
    judge, user = kit.Judge(verdict, verdict, RuntimeError("asked again")), kit.Judge("hello", "</finished>")
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options(samples=2))
    simulator = {"type": "llm_backed", "model": user.address, "model_configuration": {}}
    config = EvalConfig(criteria={"final_response_match_v2": criterion}, user_simulator_config=simulator)
    plan = {"starting_prompt": "hello", "conversation_plan": "Say hello twice."}
    cases = kit.eval_set(
        kit.case("judged", kit.turn("hello", "hi there")), EvalCase(eval_id="played", conversation_scenario=plan)
    )
    options = RunOptions(cassette="auto", cassette_file=str(file), parallelism=1)
    first = run(kit.agent(), cases, config, options=options)
    roles = [json.loads(line)["role"] for line in file.read_text().split("\n")[:-1]]
    assert [roles.count(role) for role in ("agent", "judge", "user")] == [2, 2, 2]
    with file.open("a") as cut:
        cut.write('{"key": "half a li')
    silent = kit.agent({"hello": [RuntimeError("asked again")]})
    asked = len(judge.prompts) + len(user.prompts)
    again = run(silent, cases, config, options=options)
    assert (len(judge.prompts) + len(user.prompts), silent.model.requests) == (asked, [])
    assert [unit.outcome for unit in again.units] == [unit.outcome for unit in first.units]
    assert first.units[0].outcome == "passed"
    run(kit.agent(), hello(kit, "other", repeats=3), MATCH, options=options)  # what is new is appended
    assert len([json.loads(line) for line in file.read_text().split("\n")[:-1]]) == 6 + 2


@pytest.mark.parametrize(
    "end",
    [b"", b"\r\n", b'\n{"key": "half a l\xc3', b'\r\n{"key": "half'],
    ids=["none", "crlf", "cut in a letter", "cut after crlf"],
)
def test_07_a_last_answer_counts_whatever_ends_its_line(kit: Any, tmp_path: Path, end: bytes) -> None:
    file = tmp_path / "calls.jsonl"
    cases = kit.eval_set(kit.case("a", kit.turn("look up x")))
    run(kit.agent(), cases, MATCH, options=RunOptions(cassette="record", cassette_file=str(file)))
    recorded = file.read_bytes().rstrip(b"\n")
    file.write_bytes(recorded.replace(b"\n", end[: end.find(b"\n") + 1] or b"\n") + end)
    for mode in ("replay", "auto"):
        agent = kit.agent()
        done = run(agent, cases, MATCH, options=RunOptions(cassette=mode, cassette_file=str(file)))
        assert (done.results[0].error_message, agent.model.requests) == (None, [])
    run(kit.agent(), hello(kit, "b"), MATCH, options=RunOptions(cassette="auto", cassette_file=str(file)))
    assert [json.loads(line)["role"] for line in file.read_bytes().splitlines()] == ["agent"] * 3


def test_07_failures_are_not_recorded_and_nothing_is_by_itself(kit: Any, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    cases = kit.eval_set(kit.case("a", kit.turn("boom", "x")))
    run(kit.agent(), cases, MATCH, options=RunOptions(cassette="auto", cassette_file=str(file)))
    assert not file.exists()
    assert RunOptions().cassette is None


def test_13_repeats_give_rates_and_are_kept(kit: Any) -> None:
    from newel.evaluation.runs.summary import summary_of

    class Moody(kit.Answering):  # type: ignore[misc]
        count: int = 0

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            self.count += 1
            yield LlmResponse(content=kit.content("hi there" if self.count % 2 else "go away"))

    agent = kit.agent()
    agent.model = Moody(requests=[])
    done = run(agent, hello(kit, "a"), MATCH, options=RunOptions(repeats=4, parallelism=1))
    summary = summary_of(done.units)
    assert [unit.key[2] for unit in done.units] == [0, 1, 2, 3]
    assert summary.pass_at[1] == pytest.approx(0.5)
    assert summary.pass_at[2] == pytest.approx(1 - 1 / 6)
    assert summary.pass_hat[2] == pytest.approx(1 / 6)
    assert summary.flaky == 1.0
    of_case = run(kit.agent(), hello(kit, "a", repeats=3), MATCH)
    assert len(of_case.units) == 3


def test_14_intervals_say_their_method_and_number(kit: Any) -> None:
    from newel.evaluation.runs.summary import summary_of

    done = run(kit.agent(), hello(kit, "a", "b"), MATCH)
    summary = summary_of(done.units)
    assert (summary.pass_rate.n, summary.pass_rate.method) == (2, "Wilson score, 95 %")
    assert "bootstrap over cases" in summary.metrics["response_match_score"].method
    alone = summary_of(run(kit.agent(), hello(kit, "a"), MATCH).units)
    assert alone.pass_rate.low is None
    assert alone.metrics["response_match_score"].low is None


def test_16_thresholds_of_case_and_turn_come_first(kit: Any) -> None:
    wrong = kit.turn("hello", "hi you")  # scores a half
    cases = kit.eval_set(
        kit.case("config", wrong),
        kit.case("own", wrong, criteria={"response_match_score": 0.4}),
        kit.case(
            "turn",
            wrong,
            kit.turn("hello", "hi there"),
            criteria={"response_match_score": 0.4},
            turn_criteria={0: {"response_match_score": 0.9}},
        ),
        kit.case("skipped", wrong, skip="later"),
        kit.case("expected", wrong, xfail="known"),
        kit.case("surprise", kit.turn("hello", "hi there"), xfail=True),
        criteria={"response_match_score": 0.6},
    )
    done = run(kit.agent(), cases, EvalConfig(criteria={"response_match_score": 0.1}))
    outcomes = {unit.key[1]: unit.outcome for unit in done.units}
    assert outcomes == {
        "config": "failed",
        "own": "passed",
        "turn": "failed",
        "skipped": "skipped",
        "expected": "xfailed",
        "surprise": "xpassed",
    }
    tagged = kit.eval_set(*hello(kit, "a1", "a2").eval_cases, *hello(kit, "b1", tags=["slow"]).eval_cases)
    for options, ids in (({"tags": ("slow",)}, ["b1"]), ({"cases": ("a*",)}, ["a1", "a2"])):
        assert [u.key[1] for u in run(kit.agent(), tagged, MATCH, options=RunOptions(**options)).units] == ids


def test_17_what_cannot_be_computed_is_an_error_and_no_failure(kit: Any) -> None:
    judge = kit.Judge("I would rather not say")
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options())
    done = run(kit.agent(), hello(kit, "a"), EvalConfig(criteria={"final_response_match_v2": criterion}))
    assert [unit.outcome for unit in done.units] == ["error"]
    assert (done.count("failed"), done.count("error"), done.passed) == (0, 1, False)
    assert "gave no verdict that can be read; it said 'I would rather not say'" in str(
        done.results[0].overall_eval_metric_results[0].details.error
    )


def usage(prompt: int, answer: int) -> GenerateContentResponseUsageMetadata:
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt, candidates_token_count=answer, total_token_count=prompt + answer
    )


def counted(text: str) -> LlmResponse:
    return LlmResponse(
        content=Content(role="model", parts=[Part(text=text)]), usage_metadata=usage(100, 20), model_version="m-1"
    )


def test_18_tokens_seconds_and_a_budget_that_stops_the_run(kit: Any, tmp_path: Path) -> None:
    judge = kit.Judge(counted('{"is_the_agent_response_valid": "valid"}'))
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options(samples=2))
    config = EvalConfig(criteria={"final_response_match_v2": criterion, "max_tool_calls": 0, "max_tokens": 119})
    path = tmp_path / "r.run.jsonl"
    options = RunOptions(parallelism=1, budget=Budget(max_tokens=300))
    cases = hello(kit, "a", "b", "c")
    done = run(kit.agent({"hello": [counted("hi there")]}), cases, config, options=options, run_file=path)
    kept = done.units[0].accounts
    assert (kept.of("agent").input_tokens, kept.of("judge").tokens, kept.of("judge").calls) == (100, 240, 2)
    assert kept.seconds > 0
    assert [unit.key[1] for unit in done.units] == ["a"]
    assert "budget of 300 tokens" in (done.stopped or "")
    results = {m.metric_name: m for m in done.results[0].overall_eval_metric_results}
    assert results["max_tool_calls"].eval_status is EvalStatus.PASSED
    assert results["max_tokens"].eval_status is EvalStatus.FAILED
    more = run(kit.agent({"hello": [counted("hi there")]}), cases, config, run_file=path, resume=True)
    assert [unit.key[1] for unit in more.units] == ["a", "b", "c"]


def test_18_prices_are_a_plugin(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from newel.evaluation.kinds import Price, PriceTable
    from newel.evaluation.runs import accounts

    class Registry:
        def all(self, kind: Any) -> list[PriceTable]:
            return [PriceTable(name="mine", price=lambda model: Price(10.0, 50.0) if model == "m-1" else None)]

    monkeypatch.setattr(accounts, "plugin_registry", Registry)
    done = run(kit.agent({"hello": [counted("hi there")]}), hello(kit, "a"), EvalConfig(criteria={"max_cost": 0.001}))
    assert done.units[0].accounts.cost == pytest.approx((100 * 10 + 20 * 50) / 1e6)
    assert done.units[0].outcome == "failed"


def test_21_one_coroutine_returns_everything(kit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(kit.agent(), kit.eval_set(kit.case("a", kit.turn("hello", "no"))), MATCH)
    assert [unit.outcome for unit in done.units] == ["failed"]
    assert done.results[0].session_details is not None
    assert capsys.readouterr() == ("", "")


def test_26_a_tool_with_effects_needs_leave_or_a_recorded_response(kit: Any) -> None:
    from newel.tools import FunctionTool

    paid: list[int] = []

    def pay(amount: int) -> dict[str, str]:
        """Pay."""
        paid.append(amount)
        return {"paid": "really"}

    table = {"pay 5": [[("pay", {"amount": 5})], "done"]}
    tools = [FunctionTool(pay, effect="at_most_once")]
    for recorded, options, results in (
        ([{"paid": "on paper"}], RunOptions(), [{"paid": "on paper"}]),
        ([], RunOptions(allow_effects=True), [{"paid": "really"}]),
    ):
        turn = kit.turn("pay 5", "done", calls=[("pay", {"amount": 5})], responses=recorded)
        done = run(kit.agent(table, tools=tools), kit.eval_set(kit.case("a", turn)), MATCH, options=options)
        session = done.results[0].session_details
        assert [r.response for e in session.events for r in e.get_function_responses()] == results
        assert session.state == {}
    assert paid == [5]
    refused = run(kit.agent(table, tools=tools), kit.eval_set(kit.case("a", kit.turn("pay 5"))), MATCH)
    events = refused.results[0].session_details.events
    assert "--allow-effects" in str([r.response for e in events for r in e.get_function_responses()])


def test_26_effects_need_leave_however_an_evaluation_is_started(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    from newel.evaluation.agent_evaluator import AgentEvaluator
    from newel.evaluation.base_eval_service import InferenceConfig, InferenceRequest
    from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
    from newel.evaluation.local_eval_service import LocalEvalService
    from newel.optimization.local_eval_sampler import LocalEvalSampler, LocalEvalSamplerConfig
    from newel.testing.eval_items import evaluate_case
    from newel.tools import FunctionTool

    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    agent = kit.agent({"pay 5": [[("pay", {"amount": 5})], "done"]}, tools=[FunctionTool(pay, effect="at_most_once")])
    module = ModuleType("paying_agent")
    module.agent = ModuleType("agent")  # type: ignore[attr-defined]
    module.agent.root_agent = agent  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "paying_agent", module)
    cases = kit.eval_set(kit.case("a", kit.turn("pay 5", "done")))
    sets = InMemoryEvalSetsManager()
    sets.store("demo", cases)

    async def serve(allowed: bool) -> None:
        service = LocalEvalService(agent, sets, allow_effects=allowed)
        request = InferenceRequest(app_name="demo", eval_set_id="set1", inference_config=InferenceConfig())
        assert [result.status.name async for result in service.perform_inference(request)] == ["SUCCESS"]

    async def assert_in_test(allowed: bool) -> None:
        await AgentEvaluator.evaluate_eval_set(
            "paying_agent", cases, eval_config=MATCH, num_runs=1, allow_effects=allowed
        )

    async def search(allowed: bool) -> None:
        names = {"app_name": "demo", "train_eval_set": "set1"}
        config = LocalEvalSamplerConfig(eval_config=MATCH, allow_effects=allowed, **names)
        await LocalEvalSampler(config, sets).sample_and_score(agent)

    for allowed, payments in ((False, 0), (True, 1)):
        for start in (serve, assert_in_test, search):
            paid.clear()
            asyncio.run(start(allowed))
            assert len(paid) == payments, start
        paid.clear()
        evaluate_case(agent, cases.eval_cases[0], MATCH, allow_effects=allowed)
        assert len(paid) == payments


def test_27_a_hung_case_ends_alone(kit: Any) -> None:
    async def hang(callback_context: Any) -> None:
        if callback_context.user_content.parts[0].text == "look up x":
            await asyncio.Event().wait()

    cases = kit.eval_set(kit.case("hung", kit.turn("look up x")), *hello(kit, "fine").eval_cases)
    done = run(kit.agent(before_agent_callback=hang), cases, MATCH, options=RunOptions(case_timeout=1.5))
    assert [unit.outcome for unit in done.units] == ["error", "passed"]
    assert "longer than 1.5 seconds" in (done.results[0].error_message or "")


def test_sets_whose_ids_make_one_name_have_a_file_each(kit: Any, tmp_path: Path) -> None:
    sets = [kit.eval_set(kit.case(name, kit.turn("hello"))) for name in ("a/b", "a_b", "a\nb")]
    for eval_set in sets:
        eval_set.eval_set_id = eval_set.eval_cases[0].eval_id
    done = run(kit.agent(), sets, MATCH, run_file=tmp_path / "r.run.jsonl")
    stored = {name: json.loads(file.read_text())["eval_case_results"] for name, file in done.files.items()}
    assert {name: [one["eval_id"] for one in results] for name, results in stored.items()} == {
        name: [name] for name in ("a/b", "a_b", "a\nb")
    }


@pytest.mark.parametrize("text", ["naïve 天", "half \ud800 a pair", "\u2028\x00"])
def test_any_text_of_a_model_is_kept(text: str, kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.run.jsonl"
    done = run(kit.agent({"hello": [text]}), hello(kit, "a"), MATCH, run_file=path)
    (stored,) = json.loads(done.files["set1"].read_text())["eval_case_results"]
    turn = stored["eval_metric_result_per_invocation"][0]["actual_invocation"]
    # What no store can hold is replaced before it is stored anywhere.
    assert turn["final_response"]["parts"][0]["text"] == text.replace("\ud800", "\ufffd").replace("\x00", "\ufffd")
    again = run(kit.agent(), hello(kit, "a"), MATCH, run_file=path, resume=True)
    assert again.results[0].eval_id == "a"


def test_a_metric_that_nobody_provides_is_said_before_the_first_case(kit: Any) -> None:
    agent = kit.agent()
    with pytest.raises(ConfigurationError, match=r"the config: no metric 'response_mach_score'.*did you mean"):
        run(agent, hello(kit, "a"), EvalConfig(criteria={"response_mach_score": 1.0}))
    assert agent.model.requests == []


def test_an_agent_that_fails_on_one_case_fails_that_case(kit: Any) -> None:
    cases = kit.eval_set(kit.case("bad", kit.turn("boom", "x")), *hello(kit, "good").eval_cases)
    done = run(kit.agent(), cases, MATCH)
    assert [unit.outcome for unit in done.units] == ["failed", "passed"]
    assert "the model is down" in (done.results[0].error_message or "")


def test_a_judge_that_fails_says_so_in_the_result(kit: Any) -> None:
    judge = kit.Judge(ModelError("quota"))
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=judge.options())
    done = run(kit.agent(), hello(kit, "a"), EvalConfig(criteria={"final_response_match_v2": criterion}))
    assert "quota" in (done.results[0].overall_eval_metric_results[0].details.error or "")


def test_a_slim_run_says_the_same_and_keeps_no_turns(kit: Any, tmp_path: Path) -> None:
    from newel.evaluation.runs.summary import summary_of

    cases = kit.eval_set(
        *hello(kit, "a", "b").eval_cases, kit.case("c", kit.turn("hello", "no")), kit.case("d", kit.turn("boom"))
    )
    runs = [
        run(kit.agent(), cases, MATCH, run_file=tmp_path / f"{slim}.run.jsonl", slim=slim) for slim in (False, True)
    ]
    whole, slim = [summary_of(one.units) for one in runs]
    assert (slim.sets, slim.pass_rate, slim.metrics) == (whole.sets, whole.pass_rate, whole.metrics)
    assert [one.overall_eval_metric_results[:1] for one in runs[1].results[2:]] == [
        one.overall_eval_metric_results[:1] for one in runs[0].results[2:]
    ]  # why a case failed is kept
    assert not any(one.eval_metric_result_per_invocation or one.session_details for one in runs[1].results)
    stored = json.loads(runs[1].files["set1"].read_text())["eval_case_results"]
    assert all(one["session_details"] for one in stored)
