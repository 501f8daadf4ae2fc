"""What the comparison with its peers says of newel, row by row; a row that nothing holds is a failure."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from newel import Agent
from newel.cli.group import cli
from newel.cli.kinds import Command
from newel.files import load_file
from newel.models.kinds import ModelProvider
from newel.sessions import SqliteSessionService
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool
from newel.tools.mcp_tool import McpToolset, to_mcp_server
from newel.workflow import Workflow
from newel_compose import compose
from newel_kernel import RequestProcessor, hookimpl
from newel_types import FunctionCall

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
ROWS = {name: newel for name, newel in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE) if name.strip(" -")}
#: Providers as the page calls them; those that need no network, and other addresses of the same, count for nobody.
PROVIDERS = {"gemini": "Gemini", "openai": "OpenAI", "anthropic": "Anthropic", "litellm": "LiteLLM"}


class Mine:
    """A plugin with a step of the name `contents`."""

    name = "mine"

    async def say_little(self, ctx: Any, request: Any) -> None:
        request.append_instructions(["Mine."])

    @hookimpl
    def register_request_processors(self) -> list[RequestProcessor]:
        return [RequestProcessor(name="contents", run=self.say_little)]


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def a_step_is_replaced_in_a_file(cell: str, tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text("name: house\nextends: standard\nreplace: {contents: mine}\n")
    (placed,) = (one for one in compose(file, plugins=[Mine()]).placed["request_chain"] if one.stage.name == "contents")
    assert cell == "yes, by name, in a file"
    assert placed.plugin == "mine"


def an_agent_is_a_file(cell: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nmodel: 'demo:'\n")
    assert cell == "YAML"
    assert load_file(tmp_path / "a.yaml", compose("standard")).name == "a"


def a_graph_runs(cell: str, tmp_path: Path) -> None:
    def double(node_input: int) -> int:
        return node_input * 2

    flow = Workflow(name="flow", edges=[("START", double)])
    assert cell == "yes"
    assert flow.name == "flow"


def mcp_both_ways(cell: str, tmp_path: Path) -> None:
    agent = Agent(name="clerk", model="demo:", tools=[pay])
    (offer,) = asyncio.run(to_mcp_server(agent, tools="all").offers())
    assert cell == "yes: tools of servers, and agents as servers"
    assert (offer, McpToolset.__name__) == ("pay", "McpToolset")


def nothing_of_it(word: str) -> Callable[[str, Path], None]:
    """Holds that there is no plugin, command or dependency of this name."""

    def check(cell: str, tmp_path: Path) -> None:
        composed = compose("standard")
        names = [record.name for record in composed.plugins] + [one.name for one in composed.registry.all(Command)]
        needed = [re.split(r"[^\w-]", line)[0] for line in requires("newel") or ()]
        assert cell == "no"
        assert not [name for name in [*names, *needed] if word in re.split(r"[-_]", name.lower())]

    return check


def google_adk_s_page_is_served(cell: str, tmp_path: Path) -> None:
    """Holds that the command `web` is there, and that nothing of newel's own is its page."""
    composed = compose("standard")
    assert "web" in [one.name for one in composed.registry.all(Command)]
    assert cell == "google-adk's, if that is installed"


def every_provider_is_named(cell: str, tmp_path: Path) -> None:
    offline = {"demo", "echo", "script", "test", "record", "replay"}
    others = {"openai_endpoints"}
    registered = compose("standard").registry.owned(ModelProvider).values()
    owners = {one.plugin for one in registered if one.item.name not in offline and one.plugin not in others}
    assert {PROVIDERS[owner] for owner in owners} == set(cell.split(", "))


def what_waits_is_answered_after_a_restart(cell: str, tmp_path: Path) -> None:
    def talk(*steps: Any) -> Conversation:
        agent = Agent(name="a", model=ScriptedModel(steps), tools=[FunctionTool(pay, require_confirmation=True)])
        return Conversation(agent, session_service=SqliteSessionService(str(tmp_path / "s.db")))

    asked = talk(FunctionCall(name="pay", args={"amount": 3}))
    assert asked.say().questions
    answer = asked.answers({"confirmed": True})
    assert cell == "yes"
    assert talk("Done.").say(answer).results == [{"result": "paid 3"}]


def the_log_holds_what_was_done(cell: str, tmp_path: Path) -> None:
    model = ScriptedModel([FunctionCall(name="pay", args={"amount": 3}), "Done."])
    talk = Conversation(Agent(name="a", model=model, tools=[pay]))
    said = talk.say()
    stored = [event.id for event in talk.session.events if event.author == "a"]
    assert cell == "the session's log of events"
    assert stored == [event.id for event in said]


def a_set_of_cases_runs_offline(cell: str, tmp_path: Path) -> None:
    agent = shutil.copytree(ROOT / "docs" / "examples" / "weather", tmp_path / "weather")
    result = CliRunner().invoke(cli, ["eval", str(agent), str(agent / "basics.evalset.json")])
    assert cell == "yes, offline too"
    assert result.exit_code == 0, result.output


def a_kernel_knows_no_vendor(cell: str, tmp_path: Path) -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "kernel" / "newel_kernel").rglob("*.py"))
    assert cell == "a small kernel, everything else a plugin"
    assert not re.search(r"\b(?:gemini|openai|anthropic|litellm)\b", sources, re.IGNORECASE)


CHECKS: dict[str, Callable[[str, Path], None]] = {
    "idea": a_kernel_knows_no_vendor,
    "what a run goes on from": the_log_holds_what_was_done,
    "waits for a person, over a restart": what_waits_is_answered_after_a_restart,
    "evaluation": a_set_of_cases_runs_offline,
    "an agent without Python": an_agent_is_a_file,
    "graphs": a_graph_runs,
    "replace any step of a request": a_step_is_replaced_in_a_file,
    "providers": every_provider_is_named,
    "MCP": mcp_both_ways,
    "A2A": nothing_of_it("a2a"),
    "web interface": google_adk_s_page_is_served,
    "hosting": nothing_of_it("deploy"),
}


def test_every_row_is_held() -> None:
    assert ROWS.keys() == CHECKS.keys()


@pytest.mark.parametrize("row", CHECKS)
def test_a_row_says_what_newel_does(row: str, tmp_path: Path) -> None:
    CHECKS[row](ROWS[row], tmp_path)


def test_the_version_is_the_one_that_is_named() -> None:
    named = re.search(r"version (\d+\.\d+),", PAGE)
    assert named is not None
    assert version("newel").startswith(f"{named[1]}.")


def test_figures_are_where_they_were_measured() -> None:
    """The page has none of its own: it names cases, which the page of benchmarks has with their figures."""
    assert not re.search(r"\d\s?(?:ms|us|s|%|KB|MB|times)\b", PAGE)
    benchmarks = (ROOT / "docs" / "explanation" / "benchmarks.md").read_text(encoding="utf-8")
    cases = re.findall(r"`(turn_\w+)`", PAGE)
    assert cases
    assert all(f"| `{case}`" in benchmarks for case in cases)
