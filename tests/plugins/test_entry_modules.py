"""The entry modules of the built-in plugins: spelt one way, and light."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points

import pytest

SDKS = ("anthropic", "docker", "google.genai", "litellm", "openai", "opentelemetry", "sqlalchemy", "starlette")
PLUGINS = {
    one.name: one.value
    for one in entry_points(group="newel.plugins")
    if one.dist is not None and one.dist.name == "newel"
}


def imported(code: str, names: Sequence[str]) -> str:
    """Which of the modules `names` are imported in a fresh process once `code` has run, as text."""
    code += f"\nimport sys; print([name for name in {names!r} if name in sys.modules])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_is_a_module_of_its_name_or_a_folder_with_plugin_py(name: str) -> None:
    assert PLUGINS[name].rpartition(".")[2] in (name, "plugin")


def test_no_entry_module_imports_an_sdk() -> None:
    code = f"from importlib import import_module\nfor module in {sorted(PLUGINS.values())!r}: import_module(module)"
    assert imported(code, SDKS) == "[]"


#: What runs with a request and not before: tools, questions, answers, stores.
LATER = (
    "docstring_parser",
    "newel.apps.llm_event_summarizer",
    "newel.auth.credential_manager",
    "newel.code_executors.base_code_executor",
    "newel.flows.approvals",
    "newel.flows.code_steps",
    "newel.memory.base_memory_service",
    "newel.questions.answers",
    "newel.sessions.in_memory_session_service",
    "newel.tools.function_tool",
    "newel.turns.interruption",
)


@pytest.mark.parametrize("distribution", ["minimal", "adk", "standard"])
def test_composing_imports_nothing_that_only_a_request_needs(distribution: str) -> None:
    assert imported(f"from newel_compose import compose; compose({distribution!r})", LATER) == "[]"


def test_importing_the_api_makes_no_descriptors_of_plugins_and_no_composition() -> None:
    unneeded = ("newel.models.kinds", "newel.tools.kinds", "newel_compose._internal.composer", "stevedore", "yaml")
    assert imported("import newel; [getattr(newel, name) for name in dir(newel)]", unneeded) == "[]"
