"""The group of commands: listing, finding, and telling what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

GREETING = """
    import click
    from newel.cli.kinds import Command
    from newel_kernel import hookimpl

    @click.command("greet")
    def greet():
        click.echo("hello")

    def fail():
        raise ImportError("no such library")

    @hookimpl
    def register_commands():
        return [
            Command(name="greet", load=lambda: greet, help="Say hello."),
            Command(name="broken", load=fail, help="Cannot be loaded."),
            Command(name="odd", load=lambda: 3, help="Is no command."),
        ]
"""


def test_help_lists_the_commands(project: Any) -> None:
    result = project.newel("--help")
    assert result.exit_code == 0
    for name in ("chain", "chat", "graph", "lock", "plugins", "run", "schema"):
        assert f"\n  {name} " in result.stdout
    assert "Error" not in result.stdout


def test_help_loads_no_sdk_and_nothing_for_terminals() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from newel.cli.group import cli;"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0;"
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in ("google", "anthropic", "litellm", "openai", "sqlalchemy", "starlette", "rich", "prompt_toolkit"):
        assert f"'{name}'" not in loaded


def test_a_plugin_brings_commands(project: Any) -> None:
    project.install("newel-greet", {"greeting": "greeting_plugin"}, {"greeting_plugin": GREETING})
    assert re.search(r"greet +Say hello\.", project.newel("--help").stdout)
    assert project.newel("greet").stdout == "hello\n"
    message = "the command 'broken' cannot be loaded: ImportError: no such library (greeting_plugin.py:11 in fail)"
    assert project.refused("broken") == message
    assert project.refused("odd") == "the command 'odd' is int, not a click command"
    assert project.refused("gret") == "unknown command 'gret'; did you mean 'greet'?"


def test_an_unknown_command(project: Any) -> None:
    assert project.refused("runn") == "unknown command 'runn'; did you mean 'run'?"
    known = (
        "api_server, artifacts, budgets, cache, chain, chat, completion, doctor, eval, eval_set, explain, graph, keys, "
        "lock, mcp, models, new, optimize, plugins, run, runs, schema"
    )
    hint = "it comes with newel-testkit: `pip install newel-testkit`"
    assert project.refused("fake-server").startswith(f"unknown command 'fake-server'; {hint}")
    hint = "it comes with newel-adk: `pip install newel-adk`"
    assert project.refused("sessions", "import-adk").startswith(f"unknown command 'sessions import-adk'; {hint}")
    assert project.refused("sessions", "shw") == "unknown command 'sessions shw'; did you mean 'show'?"
    assert project.refused("zzz") == f"unknown command 'zzz' (there are: {known}, sessions, submit, talk, web, worker)"


BROKEN = {
    "missing plugin": ("name: mine\nextends: standard\nplugins: [nosuch]\n", "names the plugin 'nosuch', which is not"),
    "no yaml": ("name: [\n", "newel.yaml:"),
    "unknown key": ("nam: x\n", "newel.yaml:1: unknown key 'nam'; did you mean 'name'?"),
    "unknown base": ("name: x\nextends: standrd\n", "unknown distribution 'standrd'; did you mean 'standard'?"),
    "unknown stage": ("name: x\nextends: minimal\nrequest_chain: [bsic]\n", "lists 'bsic', which no enabled plugin"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_help_and_plugins_work_where_nothing_composes(project: Any, text: str, message: str) -> None:
    project.write("newel.yaml", text)
    shown = project.newel("--help")
    assert shown.exit_code == 0
    assert "Commands:" in shown.stdout
    assert message.replace(" ", "") in shown.stdout.replace("\n", "").replace(" ", "")
    listed = project.newel("plugins")
    assert listed.exit_code == 2
    assert listed.stderr.startswith("Error: the plugins do not compose:")
    assert message in listed.stderr
    assert '"name": "commands"' in listed.stdout
    project.write("agent.yaml", "name: x\n")
    assert message in project.refused("run", "agent.yaml", "hi", lines=len(listed.stderr.splitlines()[1:]) or 1)


def test_a_file_that_is_not_text(project: Any) -> None:
    (project.path / "newel.yaml").write_bytes(b"name: \xff\n")
    assert project.newel("--help").exit_code == 0
    project.write("agent.yaml", "name: x\n")
    assert "newel.yaml:1: not UTF-8 text" in project.refused("run", "agent.yaml", "hi")


def test_without_arguments_there_is_help(project: Any) -> None:
    result = project.newel()
    assert result.exit_code == 2
    assert "Usage: " in result.output


def test_the_version(project: Any) -> None:
    assert project.newel("--version").stdout.split()[1].count(".") == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(project: Any, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = project.newel("completion", shell)
    if result.exit_code == 0:  # else it is a bash that is too old, or none
        assert f"_NEWEL_COMPLETE={shell}_complete" in result.stdout
    assert "is not one of" in project.refused("completion", "tcsh")


def test_completion_knows_the_commands_of_plugins(project: Any) -> None:
    code = (
        "from newel.cli.group import cli; from click.shell_completion import ShellComplete;"
        "print([one.value for one in ShellComplete(cli, {}, 'newel', '_X').get_completions(['plugins'], 'se')],"
        "[one.value for one in ShellComplete(cli, {}, 'newel', '_X').get_completions([], 'ch')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project.path)
    assert done.stdout == "['search', 'settings'] ['chain', 'chat']\n"
