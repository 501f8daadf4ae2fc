"""The entry modules of the built-in plugins: spelt one way, and light."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

SDKS = ("anthropic", "docker", "google.genai", "litellm", "openai", "opentelemetry", "sqlalchemy", "starlette")
PLUGINS = {
    one.name: one.value
    for one in entry_points(group="newel.plugins")
    if one.dist is not None and one.dist.name == "newel"
}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_is_a_module_of_its_name_or_a_folder_with_plugin_py(name: str) -> None:
    assert PLUGINS[name].rpartition(".")[2] in (name, "plugin")


def test_no_entry_module_imports_an_sdk() -> None:
    code = (
        "import sys; from importlib import import_module\n"
        f"for module in {sorted(PLUGINS.values())!r}: import_module(module)\n"
        f"print([name for name in {SDKS!r} if name in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"
