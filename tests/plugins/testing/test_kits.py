"""The kits that open no store: what is right passes, newel's own among it, and each planted bug is caught by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.testing.planted import Bug, auth_providers, commands, memory, metrics, processors

from newel.agents import LlmAgent
from newel.cli.kinds import Command
from newel.code_executors import SandboxCodeExecutor
from newel.evaluation.kinds import Metric
from newel.evaluation.plugins import evaluation_composition
from newel.memory.sqlite.service import SqliteMemoryService
from newel.planners import PlanReActPlanner
from newel.testing import (
    auth_provider_checks,
    command_checks,
    memory_checks,
    metric_checks,
    processor_checks,
    processor_conformance,
)
from newel_compose import compose
from newel_kernel import ConfigurationError

Checks = Mapping[str, Callable[[], None]]
GOOD, BAD = ("yes", "yes"), ("well that is a very long answer", "yes")


def memories(make: Any) -> Checks:
    return memory_checks(make, shared=False)


def providers(make: Any) -> Checks:
    config = auth_providers.config
    return auth_provider_checks(make, known=config("known"), unknown=config("unknown"))


def of_requests(plugin: Any) -> Checks:
    return processor_checks("planted", plugins=[plugin()], adds=["instruction"])


def of_responses(plugin: Any) -> Checks:
    return processor_checks("planted", plugins=[plugin()], of_responses=True, adds=["response.custom_metadata"])


def of_commands(made: Any) -> Checks:
    return command_checks(made.command(), runs=[["Bob"], []], refuses=[["nobody"]])


def of_metrics(made: Any) -> Checks:
    return metric_checks(made.metric(), good=GOOD, bad=BAD)


KITS: dict[str, tuple[Callable[[Any], Checks], Any, list[Bug]]] = {
    "memory": (memories, memory.Memory, memory.BUGS),
    "auth providers": (providers, auth_providers.Vault, auth_providers.BUGS),
    "processors": (of_requests, processors.Right, processors.BUGS),
    "processors of responses": (of_responses, processors.RightForResponses, processors.OF_RESPONSES),
    "commands": (of_commands, commands.Right, commands.BUGS),
    "metrics": (of_metrics, metrics.Right, metrics.BUGS),
}
PLANTED = [
    pytest.param(kit, bug, id=f"{name}-{bug.faulty.__name__}") for name, (kit, _, bugs) in KITS.items() for bug in bugs
]


@pytest.mark.parametrize("name", KITS)
def test_what_is_right_passes(name: str) -> None:
    kit, right, bugs = KITS[name]
    checks = kit(right)
    assert {bug.check for bug in bugs} <= set(checks)
    for check in checks.values():
        check()


@pytest.mark.parametrize(("kit", "bug"), PLANTED)
def test_a_planted_bug_is_caught(kit: Callable[[Any], Checks], bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GREETED", raising=False)
    with pytest.raises(Exception):  # noqa: B017, PT011 - the implementation's own errors, too
        kit(bug.faulty)[bug.check]()


def test_the_memory_in_a_file_is_right(tmp_path: Path) -> None:
    for check in memory_checks(lambda: SqliteMemoryService(tmp_path / "m.db")).values():
        check()


AGENTS: dict[str, Callable[[], LlmAgent]] = {
    "planning": lambda: LlmAgent(name="root", planner=PlanReActPlanner()),
    "code_execution": lambda: LlmAgent(name="root", code_executor=SandboxCodeExecutor()),
    "agent_transfer": lambda: LlmAgent(name="root", sub_agents=[LlmAgent(name="other", description="Others.")]),
}
#: Parts of the request that newel's own processors change: all others conform without saying anything.
CHANGES: dict[str, dict[str, list[str]]] = {
    "basic": {"adds": ["config.labels"], "replaces": ["model"]},
    "identity": {"adds": ["instruction"]},
    "instructions": {"adds": ["instruction"]},
    "contents": {"replaces": ["contents"]},
    "planning": {"adds": ["instruction"], "replaces": ["contents"]},
    "code_execution": {"replaces": ["contents"]},
    "agent_transfer": {"adds": ["instruction", "tools"]},
}


#: They need another model, or an answer that fits the schema.
_OTHERS = {"cache_keys", "interactions", "output_schema"}
OWN = [step.name for step in compose("standard").request_chain if step.name not in _OTHERS]


@pytest.mark.parametrize("name", OWN)
def test_newels_own_processors_conform(name: str) -> None:
    agent = AGENTS.get(name, lambda: LlmAgent(name="root", instruction="Be kind."))
    processor_conformance(name, agent=agent, **CHANGES.get(name, {}))


def test_a_processor_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="has no such processor 'shout'"):
        processor_checks("shout")["no_foreign_part_is_changed"]()


@pytest.mark.parametrize("command", compose("standard").registry.all(Command), ids=lambda one: one.name)
def test_newels_own_commands_conform(command: Command) -> None:
    for check in command_checks(command, runs=[]).values():
        check()


@pytest.mark.parametrize("name", ["max_words", "response_match_score"])
def test_newels_own_metrics_conform(name: str) -> None:
    metric = evaluation_composition("standard").registry.find(Metric, name)
    for check in metric_checks(metric, good=GOOD, bad=BAD, threshold=2 if name == "max_words" else 0.9).values():
        check()
