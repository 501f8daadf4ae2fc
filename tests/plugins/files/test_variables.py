"""Environment variables in agent files: what they stand for, and that no error shows it."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from newel.agents.config_agent_utils import from_config
from newel.files.variables import mask
from newel_kernel import AgentConfigError

SECRET = "sk-live-0123456789abcdef'\\ \u00e9\nsecond-line-of-it"

TOOLS = """
    from pydantic import BaseModel, Field
    from newel.tools import BaseTool

    def check(key):
        raise ValueError(f"the key {key!r} is wrong")

    def shorten(key):
        raise RuntimeError(f"{key[:12]}... is refused")

    def chain(key):
        try:
            check(key)
        except ValueError as error:
            raise RuntimeError("refused") from error

    class Settings(BaseModel):
        key: str = Field(max_length=3)

    class Tool(BaseTool):
        def __init__(self, key):
            super().__init__(name="tool")
            self.settings = Settings(key=key)

    def keep(city: str, key: str) -> str:
        return city
"""


@pytest.fixture
def app(folder: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("KEY", SECRET)
    monkeypatch.delenv("NOWHERE", raising=False)
    folder.write("tools.py", TOOLS)
    return folder


PLACES = {
    "name": "name: ${KEY}",
    "model of another kind": "name: x\nmode: ${KEY}",
    "tool": "name: x\ntools: ['${KEY}']",
    "code": "name: x\ntools: ['tools.${KEY}']",
    "config_path": "name: x\nsub_agents: [{config_path: '${KEY}.yaml'}]",
    "agent class": "name: x\nagent_class: ${KEY}",
    "planner": "name: x\nplanner: {name: '${KEY}'}",
    "number": "name: x\ngenerate_content_config: {top_k: '${KEY}'}",
    "reference": "name: x\nsub_agents: [{config_path: '${KEY}', code: a.b}]",
    "raised": "name: x\ntools: [{name: tools.check, args: {key: '${KEY}'}}]",
    "shortened": "name: x\ntools: [{name: tools.shorten, args: {key: '${KEY}'}}]",
    "chained": "name: x\ntools: [{name: tools.chain, args: {key: '${KEY}'}}]",
    "within a text": "name: x\ntools: [{name: tools.check, args: {key: 'Bearer ${KEY}!'}}]",
    "validated": "name: x\ntools: [{name: tools.Tool, args: {key: '${KEY}'}}]",
    "another argument": "name: x\ntools: [{name: clock, args: {'zon': '${KEY}'}}]",
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_no_error_shows_a_variable(app: Any, text: str) -> None:
    with pytest.raises(AgentConfigError) as caught:
        from_config(app.write("root_agent.yaml", text), composition=app.composition)
    shown = "".join(traceback.format_exception(caught.value))
    for piece in ("sk-live-", "0123456789", "second-line", "abcdef"):
        assert piece not in shown
    assert str(caught.value).startswith(str(app.path / "root_agent.yaml") + ":")


def test_the_error_names_the_variable(app: Any) -> None:
    message = app.refused("name: x\ntools:\n  - name: tools.check\n    args: {key: '${KEY}'}\n")
    assert message.startswith("root_agent.yaml:4: 'tools.check' cannot be made of these args: ValueError: the key ")
    assert "${KEY}" in message


def test_an_error_without_variables_keeps_its_cause(app: Any) -> None:
    with pytest.raises(AgentConfigError) as caught:
        from_config(
            app.write("root_agent.yaml", "name: x\ntools: [{name: tools.check, args: {key: abc}}]\n"),
            composition=app.composition,
        )
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_bound_secret_is_not_shown(app: Any) -> None:
    tool = app.load("name: x\ntools: [{name: tools.keep, args: {key: '${KEY}'}}]\n").tools[0]
    assert "sk-live" not in repr(tool)
    assert tool(city="Rome") == "Rome"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${NOWHERE}", "the environment variable 'NOWHERE' is not set; set it, or write $${NOWHERE} for"),
        ("a ${KEY", "a reference ${ has no closing }; write ${NAME}, or $${ for the text ${"),
        ("${}", "'${}' is not a reference to an environment variable; write ${NAME}"),
        ("${A B}", "'${A B}' is not a reference"),
        ("${KEY:-x}", "'${KEY:-x}' is not a reference"),
        ("${${KEY}}", "a reference ${ has no closing }"),
    ],
)
def test_wrong_references(app: Any, text: str, message: str) -> None:
    assert app.refused(f"name: x\ninstruction: '{text}'\n").startswith(f"root_agent.yaml:2: {message}")


def test_a_key_holds_no_variable(app: Any) -> None:
    message = app.refused("name: x\ntools:\n  - name: clock\n    args:\n      ${KEY}: 3\n")
    assert message.startswith("root_agent.yaml:5: the key '${KEY}' cannot hold a variable")


def test_a_short_value_is_no_secret() -> None:
    assert mask("the line 1 of a", {"A": "1", "B": "a"}) == "the line 1 of a"
    assert mask("abcdefgh... and abcdef", {"A": "abcdefghij"}) == "${A}... and abcdef"
