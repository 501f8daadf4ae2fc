"""Agent and app files at the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

APP = """
    name: desk
    root_agent: helper.yaml
    plugins: [code.Prefix]
    session_service: "sqlite:///own.db"
"""
CODE = """
    from newel.plugins import BasePlugin

    class Prefix(BasePlugin):
        def __init__(self):
            super().__init__("prefix")

        async def on_event_callback(self, *, invocation_context, event):
            if event.content and event.content.parts and event.content.parts[0].text:
                event.content.parts[0].text = "desk: " + event.content.parts[0].text
            return event
"""


@pytest.mark.parametrize("source", ["desk/app.yaml", "desk"])
def test_an_app_runs_with_its_plugins_and_its_store(project: Any, source: str) -> None:
    project.write("desk/app.yaml", APP)
    project.write("desk/code.py", CODE)
    project.write("desk/helper.yaml", "name: helper\nmodel: 'echo:'\n")
    result = project.newel("run", source, "hello")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("desk: ")
    assert "own.db" in project.files()
    assert not any(name.startswith(".newel") for name in project.files())


WRONG = {
    "key": ("name: x\nmodle: y\n", "a.yaml:2: unknown key 'modle' in LlmAgent; did you mean 'mode'?"),
    "variable": ("name: x\ninstruction: ${NOT_SET_ANYWHERE}\n", "a.yaml:2: the environment variable 'NOT_SET_ANY"),
    "tag": ("name: !!python/object/apply:os.system [ls]\n", "a.yaml:1: tags are not allowed"),
    "code": ("name: x\ntools: [os.system]\n", "a.yaml:2: 'os.system' is not allowed here"),
    "path": ("name: x\nsub_agents: [{config_path: /etc/x.yaml}]\n", "a.yaml:2: config_path '/etc/x.yaml' leaves"),
    "app": ("name: d\nroot_agent: none.yaml\n", "a.yaml:2: root_agent 'none.yaml': there is no such YAML file"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line_and_status_2(project: Any, text: str, message: str) -> None:
    project.write("a.yaml", text)
    assert project.refused("run", "a.yaml", "hi").startswith(message)


def test_the_schema(project: Any) -> None:
    project.install(
        "more-tools",
        {"more": "more_tools"},
        {
            "more_tools": """
        from newel.tools.kinds import ToolFactory
        from newel_kernel import hookimpl

        @hookimpl
        def register_tool_factories():
            return [ToolFactory(name="measure", create=lambda: None)]
    """
        },
    )
    schema = json.loads(project.newel("schema").stdout)
    names = schema["$defs"]["tool"]["anyOf"][0]["anyOf"][0]["enum"]
    assert {"measure", "google_search"} <= set(names)
    assert "measure" not in project.newel("schema", "--distribution", "adk").stdout
    assert project.refused("schema", "--kind", "agents").startswith("Invalid value for '--kind'")
