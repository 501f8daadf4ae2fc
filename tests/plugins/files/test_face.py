"""The face of the room: what it offers, the released names that mirror it, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

from newel import files
from newel.agents import agent_config, common_configs, config_agent_utils


def test_every_name_of_the_face_is_there() -> None:
    assert sorted(files.__all__) == dir(files)
    assert all(getattr(files, name) is not None for name in files.__all__)


def test_the_released_names_are_those_of_the_face() -> None:
    assert config_agent_utils.from_config is files.load_agent
    assert agent_config.load_agent_from_config is files.load_agent
    for name in common_configs.__all__:
        assert getattr(common_configs, name) is getattr(files, name)


def test_neither_newel_nor_the_face_imports_yaml() -> None:
    code = "import newel, newel.files, sys; newel.App, newel.Agent, newel.Workflow; assert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
