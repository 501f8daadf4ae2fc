"""GEPA: the search of the library, with scripted models; and the command."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from newel.agents import LlmAgent
from newel.cli.group import cli
from newel.evaluation import EvalCase, EvalConfig, EvalSet, Invocation
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.models import BaseLlm, LLMRegistry
from newel.optimization.gepa_root_agent_prompt_optimizer import (
    GEPARootAgentPromptOptimizer,
    GEPARootAgentPromptOptimizerConfig,
)
from newel.optimization.local_eval_sampler import LocalEvalSampler, LocalEvalSamplerConfig
from newel_kernel import ConfigurationError, FeatureUnavailableError, LlmRequest, LlmResponse
from newel_types import Content, Part

CONFIG = {"optimizer_model": "test-gepa/reflect", "max_metric_calls": 20, "reflection_minibatch_size": 2}
TURN = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "good day"}]}}


class Scripted(BaseLlm):
    """Reflects, and plays an agent that greets only where its instruction says so."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["test-gepa/.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if self.model.endswith("reflect"):
            text = llm_request.contents[0].parts[0].text or ""  # type: ignore[index]
            assert "what?" in text  # what the agent said is in what is reflected upon
            answer = "```\nGreet people.\n```"
        else:
            answer = "good day" if "Greet" in str(llm_request.config.system_instruction) else "what?"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=answer)]))


LLMRegistry.register(Scripted)


def search(instruction: Any = "Do well.") -> Any:
    sets = InMemoryEvalSetsManager()
    cases = [EvalCase(eval_id=f"c{n}", conversation=[Invocation.model_validate(TURN)]) for n in range(3)]
    sets.store("demo", EvalSet(eval_set_id="s", eval_cases=cases))
    config = EvalConfig(criteria={"response_match_score": 0.8})
    sampler = LocalEvalSampler(LocalEvalSamplerConfig(eval_config=config, app_name="demo", train_eval_set="s"), sets)
    agent = LlmAgent(name="a", model="test-gepa/agent", instruction=instruction)
    optimizer = GEPARootAgentPromptOptimizer(GEPARootAgentPromptOptimizerConfig.model_validate(CONFIG))
    return asyncio.run(optimizer.optimize(agent, sampler))


def test_every_candidate_has_its_score_and_two_searches_find_the_same() -> None:
    first, second = search(), search()
    found = [(one.optimized_agent.instruction, one.overall_score) for one in first.optimized_agents]
    assert found == [("Do well.", 0.0), ("Greet people.", 1.0)]
    assert first.gepa_result["best_idx"] == 1
    assert first.gepa_result["candidates"] == second.gepa_result["candidates"]


def test_only_a_text_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="needs an instruction that is a string"):
        search(lambda context: "Do well.")
    monkeypatch.setitem(__import__("sys").modules, "gepa", None)
    with pytest.raises(FeatureUnavailableError, match=r"pip install 'newel\[optimize\]'"):
        search()


def test_the_command_prints_the_best_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    agent = "name: demo\nmodel: test-gepa/agent\ninstruction: Do well.\n"
    (tmp_path / "demo" / "root_agent.yaml").write_text(agent)
    data = {"eval_set_id": "s", "eval_cases": [{"eval_id": name, "conversation": [TURN]} for name in "abc"]}
    (tmp_path / "demo" / "s.evalset.json").write_text(json.dumps(data))
    sampler: dict[str, Any] = {"eval_config": {"criteria": {"response_match_score": 0.8}}, "train_eval_set": "s"}
    (tmp_path / "gepa.json").write_text(json.dumps(CONFIG))

    def newel(app_name: str) -> Any:
        (tmp_path / "sampler.json").write_text(json.dumps({**sampler, "app_name": app_name}))
        args = ["optimize", "demo", "--sampler_config_file_path", "sampler.json", "--print_detailed_results"]
        return CliRunner().invoke(cli, [*args, "--optimizer_config_file_path", "gepa.json"], catch_exceptions=False)

    done = newel("demo")
    assert done.exit_code == 0, done.output
    assert f"Optimized root agent instructions:\n{'-' * 80}\nGreet people.\n" in done.stdout
    assert '"best_idx": 1' in done.stdout
    assert (tmp_path / "demo" / "root_agent.yaml").read_text() == agent
    refused = newel("other")
    assert (refused.exit_code, "write the folder's name there" in refused.stderr) == (2, True)


HANGING = """
import asyncio, pathlib
from newel.agents import LlmAgent
from newel.models import LLMRegistry
from newel.models import BaseLlm
from newel_kernel import LlmResponse
from newel_types import Content, Part

class Scripted(BaseLlm):
    @classmethod
    def supported_models(cls):
        return ["hanging/.*"]

    async def generate_content_async(self, llm_request, stream=False):
        if self.model.endswith("reflect"):
            if not pathlib.Path("go").exists():
                print("hanging", flush=True)
                await asyncio.Event().wait()
            answer = "```\\nGreet people.\\n```"
        else:
            with open("calls", "a") as file:
                file.write("x")
            answer = "good day" if "Greet" in str(llm_request.config.system_instruction) else "what?"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=answer)]))

LLMRegistry.register(Scripted)
root_agent = LlmAgent(name="demo", model="hanging/agent", instruction="Do well.")
"""


def test_27_an_interrupt_ends_a_reflection_and_the_printed_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "agent.py").write_text(HANGING)
    data = {"eval_set_id": "s", "eval_cases": [{"eval_id": name, "conversation": [TURN]} for name in "abc"]}
    (tmp_path / "demo" / "s.evalset.json").write_text(json.dumps(data))
    (tmp_path / "gepa.json").write_text(json.dumps({**CONFIG, "optimizer_model": "hanging/reflect"}))
    criteria = {"criteria": {"response_match_score": 0.8}}
    (tmp_path / "sampler.json").write_text(
        json.dumps({"eval_config": criteria, "app_name": "demo", "train_eval_set": "s"})
    )
    files = ("--sampler_config_file_path", "sampler.json", "--optimizer_config_file_path", "gepa.json")
    command = [sys.executable, "-u", "-X", "faulthandler", "-m", "newel.cli.main", "optimize", "demo", *files]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    before = len((tmp_path / "calls").read_text())
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)  # it would reflect for ever
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # it says where it hangs
        _, said = process.communicate()
    assert process.returncode == 130, said
    assert "interrupted; everything finished so far is in" in said
    run = said.strip().rpartition("--resume=")[2].strip("'")
    (tmp_path / "go").touch()
    again = subprocess.run([*command, "--resume", run], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "\nGreet people.\n" in again.stdout
    # Of the twenty examples that it may look at only the two are done again whose reflection was cut short.
    assert (before, len((tmp_path / "calls").read_text())) == (3 + 2, 20 + 2)
    refused = subprocess.run([*command, "--resume", "x"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "there is no search x" in refused.stderr


def test_a_search_that_is_cancelled_leaves_no_thread_behind() -> None:
    hangs = threading.Event()

    class Hanging(LocalEvalSampler):
        async def sample_and_score(self, *args: Any, **kwargs: Any) -> Any:
            hangs.set()
            await asyncio.Event().wait()

    sets = InMemoryEvalSetsManager()
    case = EvalCase(eval_id="c", conversation=[Invocation.model_validate(TURN)])
    sets.store("demo", EvalSet(eval_set_id="s", eval_cases=[case]))
    config = LocalEvalSamplerConfig(eval_config=EvalConfig(), app_name="demo", train_eval_set="s")
    optimizer = GEPARootAgentPromptOptimizer(GEPARootAgentPromptOptimizerConfig.model_validate(CONFIG))
    agent = LlmAgent(name="a", model="test-gepa/agent", instruction="Do well.")

    async def run() -> None:
        search = asyncio.create_task(optimizer.optimize(agent, Hanging(config, sets)))
        await asyncio.to_thread(hangs.wait, 30)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(search, 30)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
