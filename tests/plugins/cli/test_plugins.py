"""`newel plugins`, `newel chain` and `newel lock`: what is composed, and why."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from newel.cli import chain, plugins
from newel.cli.group import cli

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WEATHER = str(EXAMPLES / "weather")
STAGE = """
    from newel_kernel import RequestProcessor, hookimpl

    async def run(ctx, request):
        return None

    @hookimpl
    def register_request_processors():
        return [
            RequestProcessor(name="mask", run=run, after=("contents",), applies_to=lambda agent: agent.name == "x"),
        ]
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands believe that a person reads their output."""
    monkeypatch.setenv("COLUMNS", "200")
    for module in (plugins, chain):
        monkeypatch.setattr(module, "to_terminal", lambda: True)


def test_plugins_as_json(project: Any) -> None:
    project.install("newel-broken", {"broken": "broken_plugin"}, {"broken_plugin": "raise RuntimeError('no luck')\n"})
    project.write("newel.yaml", "name: mine\nextends: standard\ndisable: [echo]\n")
    records = {record["name"]: record for record in json.loads(project.newel("plugins").stdout)}
    assert records["contents"]["state"] == "enabled"
    assert records["contents"]["hooks"] == ["register_request_processors", "register_settings"]
    assert (records["echo"]["state"], records["echo"]["why"]) == ("disabled", "disabled by the distribution")
    assert records["broken"]["state"] == "failed"
    assert records["broken"]["why"] == "failed to load: RuntimeError: no luck (broken_plugin.py:1)"
    assert (records["broken"]["distribution"], records["broken"]["version"]) == ("newel-broken", "1.0")


def test_a_broken_plugin_that_the_distribution_needs(project: Any) -> None:
    project.install("newel-broken", {"broken": "broken_plugin"}, {"broken_plugin": "raise RuntimeError('no luck')\n"})
    project.write("newel.yaml", "name: mine\nextends: standard\nplugins: [broken]\n")
    result = project.newel("plugins")
    assert result.exit_code == 2
    assert "the plugin 'broken' (newel-broken 1.0, broken_plugin) failed to load: RuntimeError" in result.stderr
    records = {record["name"]: record for record in json.loads(result.stdout)}
    assert records["broken"]["why"] == "failed to load: RuntimeError: no luck (broken_plugin.py:1)"
    assert records["contents"]["state"] == "available"
    why = project.newel("plugins", "why", "broken")
    assert why.exit_code == 2
    assert json.loads(why.stdout)["state"] == "failed"
    assert "no luck" in project.refused("run", WEATHER, "hi")
    assert project.newel("run", WEATHER, "hi", "--distribution", "minimal").exit_code == 0


def test_plugins_as_a_table(project: Any, terminal: None) -> None:
    shown = project.newel("plugins").stdout
    assert "distribution standard" in shown
    assert "register_request_processors" in shown


def test_on_a_narrow_terminal_no_name_is_split(project: Any, terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = project.newel("plugins").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    words = {word for line in lines for word in line.split()}
    assert {one.name for one in entry_points(group="newel.plugins")} <= words
    assert words & {"register_kinds", "hooks"} == set()
    monkeypatch.setenv("COLUMNS", "130")
    assert {"register_kinds,", "register_request_processors"} <= set(project.newel("plugins").stdout.split())


def test_why_a_plugin_is_in(project: Any) -> None:
    report = json.loads(project.newel("plugins", "why", "agents").stdout)
    address = "agent_types/LlmAgent"
    assert {"kind": "AgentType", "name": "LlmAgent", "address": address} in report["provides"]
    place = json.loads(project.newel("plugins", "why", "contents").stdout)["places"][0]
    assert (place["chain"], place["after"], place["before"]) == ("request_chain", "steering", "context_cache")
    assert project.refused("plugins", "why", "contnts") == "no plugin 'contnts' is installed; did you mean 'contents'?"


def test_why_in_words(project: Any, terminal: None) -> None:
    shown = project.newel("plugins", "why", "basic").stdout
    assert "enabled: named by the distribution" in shown
    assert "request_chain: 'basic' is at place 1 of 17, before 'auth' (placed by: distribution)" in shown


def test_the_chain_of_an_agent(project: Any) -> None:
    project.install("newel-mask", {"mask": "mask_plugin"}, {"mask_plugin": STAGE})
    report = json.loads(project.newel("chain", WEATHER).stdout)
    assert report["agent"] == "weather"
    rows = {row["name"]: row for row in report["chains"]["request_chain"]}
    assert list(rows)[:2] == ["basic", "auth"]
    assert list(rows).index("mask") == list(rows).index("contents") + 1
    assert rows["mask"] == {
        "name": "mask",
        "plugin": "mask",
        "distribution": "newel-mask 1.0",
        "placed_by": "after contents",
        "applies": False,
    }
    assert (rows["planning"]["applies"], rows["agent_transfer"]["applies"]) == (False, False)  # it is alone
    assert rows["basic"]["applies"] is None
    chains = {chain: [row["name"] for row in rows] for chain, rows in report["chains"].items()}
    assert list(chains)[:4] == ["request_chain", "response_chain", "result_chain", "tool_chain"]
    others = ["tool_preparations", "prologues", "epilogues", "observers", "hook_policies", "live_out", "live_in"]
    assert [chain for chain in list(chains)[4:] if chain in others] == others
    assert chains["prologues"] == ["auth", "pairing", "input_blobs"]
    assert chains["epilogues"][:3] == ["turns", "agent_calls", "compaction"]
    assert chains["response_chain"] == ["planning", "code_execution", "tool_calls"]
    assert chains["tool_chain"] == [
        "malformed_calls",
        "tool_results",
        "unknown_agents",
        "tool_timeout",
        "tool_threads",
        "claims",
    ]
    assert {row["applies"] for row in report["chains"]["tool_chain"]} == {None}
    project.write("alone.yaml", "name: x\ndisallow_transfer_to_parent: true\ndisallow_transfer_to_peers: true\n")
    alone = json.loads(project.newel("chain", "alone.yaml").stdout)["chains"]["request_chain"]
    assert {row["name"]: row["applies"] for row in alone}.items() >= {"mask": True, "agent_transfer": False}.items()


def test_the_chain_as_tables(project: Any, terminal: None) -> None:
    shown = project.newel("chain", WEATHER).stdout
    assert "request chain of weather (distribution standard)" in shown
    assert any("planning" in line and line.rstrip().endswith("no") for line in shown.splitlines())


def test_a_lock_holds_until_it_is_renewed(project: Any) -> None:
    assert project.newel("lock").stdout.startswith("newel.lock: ")
    assert project.newel("run", WEATHER, "hi").exit_code == 0
    project.install("newel-mask", {"mask": "mask_plugin"}, {"mask_plugin": STAGE})
    assert "plugin 'mask': newel-mask 1.0, locked: absent" in project.refused("run", WEATHER, "hi", lines=3)
    listed = project.newel("plugins")
    assert "locked: absent" in listed.stderr
    assert project.newel("lock").exit_code == 0
    assert project.newel("run", WEATHER, "hi").exit_code == 0


def test_the_commands_know_their_help() -> None:
    for name in ("run", "chat", "plugins", "chain", "graph", "lock"):
        assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0


def test_the_list_by_state_and_by_package(project: Any) -> None:
    project.install("newel-mask", {"mask": "mask_plugin"}, {"mask_plugin": STAGE})
    project.write("newel.yaml", "name: mine\nextends: standard\ndisable: [echo]\n")

    def names(*options: str) -> list[str]:
        return [record["name"] for record in json.loads(project.newel("plugins", "list", *options).stdout)]

    assert names("--state", "disabled") == ["echo"]
    assert names("--from", "newel-mask") == ["mask"]
    assert names("--from", "newel-mask", "--state", "disabled", "--state", "failed") == []
    assert "echo" in names()
    assert "echo" not in names("--distribution", "minimal", "--state", "disabled")
    assert project.refused("plugins", "list", "--from", "newel-mack").startswith("no plugin is from 'newel-mack'; did")
    assert "'of' is not one of" in project.refused("plugins", "list", "--state", "of")


def test_why_takes_options_after_the_name(project: Any) -> None:
    why = json.loads(project.newel("plugins", "why", "tool_errors", "--distribution", "adk").stdout)
    assert why["state"] == "available"
    before = json.loads(project.newel("plugins", "--distribution", "adk", "why", "tool_errors").stdout)
    assert before == why


def test_the_settings_of_a_plugin(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("newel.yaml", "name: mine\nextends: standard\nsettings: {tool_timeout: {seconds: 7}}\n")
    seconds, tools = json.loads(project.newel("plugins", "settings", "tool_timeout").stdout)
    assert (seconds["setting"], seconds["type"], seconds["default"], seconds["value"]) == ("seconds", "float", 0, 7)
    assert seconds["description"].startswith("Seconds that a call may take; 0: no limit.")
    assert tools["type"] == "dict[str, float]"
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(plugins, "to_terminal", lambda: True)
    assert "settings (distribution mine)" in project.newel("plugins", "settings").stdout
    assert project.refused("plugins", "settings", "tool_timout").startswith("no plugin 'tool_timout' is installed; did")
    assert "has no settings" in project.refused("plugins", "settings", "echo")


SECRETS = ["secret_key", "secretKey", "tokens", "credentials_json", "signing_secret_key", "token_file", "key"]
VAULT = """
    from pydantic import BaseModel, create_model

    from newel_kernel import hookimpl

    texts = dict.fromkeys(SECRETS, (str, ""))
    Settings = create_model("Settings", **texts, max_tokens=(int, 0), monkey=(str, ""))

    @hookimpl
    def register_settings():
        return Settings
""".replace("SECRETS", repr(SECRETS))


def test_settings_that_may_be_secrets_are_not_shown(project: Any) -> None:
    project.install("newel-vault", {"vault": "vault_plugin"}, {"vault_plugin": VAULT})
    values = {**dict.fromkeys(SECRETS, "hush"), "max_tokens": 7, "monkey": "loud"}
    project.write("newel.yaml", json.dumps({"name": "mine", "extends": "standard", "settings": {"vault": values}}))
    rows = json.loads(project.newel("plugins", "settings", "vault").stdout)
    shown = {row["setting"]: row["value"] for row in rows}
    assert shown == {**dict.fromkeys(SECRETS, "***"), "max_tokens": 7, "monkey": "loud"}


def test_every_setting_says_what_it_is_for(project: Any) -> None:
    rows = json.loads(project.newel("plugins", "settings").stdout)
    assert [f"{row['plugin']}.{row['setting']}" for row in rows if not row["description"]] == []
