"""Templates: the files of a new agent or distribution; ``{name}`` stands for its name."""

from __future__ import annotations

_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "newel-{dashed}"
version = "0.1.0"
description = "{description}"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["newel>=0.1"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."{group}"]
{name} = "{target}"

[tool.hatch.build]
dev-mode-dirs = ["."]

[tool.hatch.build.targets.wheel]
packages = ["{package}"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

AGENT = {
    "root_agent.yaml": """\
name: {name}
instruction: Answer questions about the weather. Use the tool; do not guess.
tools:
  - tools.get_weather
""",
    "tools.py": '''\
"""The tools of {name}: a function's signature is what the model sees, its docstring says what it is for."""


def get_weather(city: str) -> dict[str, str]:
    """Get the weather in a city."""
    return {{"city": city, "weather": "light rain"}}
''',
    "test_{name}.py": '''\
"""The agent, with a scripted model: `pytest` needs no key and no network."""

from pathlib import Path

from newel.agents.config_agent_utils import from_config
from newel.testing import Conversation, ScriptedModel
from newel.types import FunctionCall


def test_it_asks_the_tool() -> None:
    agent = from_config(str(Path(__file__).with_name("root_agent.yaml")))
    agent.model = ScriptedModel([FunctionCall(name="get_weather", args={{"city": "Paris"}}), "It rains in Paris."])
    turn = Conversation(agent).say("What is the weather in Paris?")
    assert turn.results == [{{"city": "Paris", "weather": "light rain"}}]
    assert turn.text == "It rains in Paris."
''',
}

DISTRIBUTION = {
    "pyproject.toml": _PYPROJECT,
    "README.md": """\
# newel-{dashed}

The distribution `{name}` of newel: which plugins make the runtime, and with which settings.

    pip install -e '.[test]'
    pytest
    newel run AGENT "hello" --distribution {name}
""",
    "{package}/__init__.py": '"""A distribution of newel; `{name}.yaml` is what it is."""\n',
    "{package}/{name}.yaml": """\
# Everything that `standard` has, with the choices of {name}.
name: {name}
extends: standard
disable: [code_execution]
settings:
  tool_timeout:
    seconds: 60
""",
    "tests/test_distribution.py": '''\
"""The distribution composes, and a turn runs on it."""

from newel import Agent
from newel.testing import Conversation, ScriptedModel
from newel_compose import compose


def test_it_composes() -> None:
    composition = compose("{name}")
    assert composition.distribution.name == "{name}"
    assert "code_execution" not in [step.name for step in composition.request_chain]


def test_a_turn_runs_on_it() -> None:
    talk = Conversation(Agent(name="a", model=ScriptedModel("Hello.")), distribution="{name}")
    assert talk.say("Hi").text == "Hello."
''',
}
