"""`newel run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WEATHER = str(EXAMPLES / "weather")
AGENT = "name: helper\nmodel: '{model}'\n"


def test_the_demo_model_answers_through_a_tool(project: Any) -> None:
    result = project.newel("run", WEATHER, "What is the weather in Paris?")
    assert result.exit_code == 0
    assert "light rain" in result.stdout
    assert "17" in result.stdout
    assert result.stderr.startswith("note: the offline demo model answers")
    assert result.stderr.count("\n") == 1


def test_the_travel_example_has_its_sub_agents(project: Any) -> None:
    result = project.newel("run", str(EXAMPLES / "travel"), "Find me a flight from Berlin to Lisbon", "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert "flights" in {event["author"] for event in events}
    assert "MO 217" in result.stdout


def test_events_as_json_lines(project: Any) -> None:
    lines = project.newel("run", WEATHER, "What is the weather in Paris?", "--json").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert len({event["invocationId"] for event in events}) == 1
    kinds = [part for event in events for part in event["content"]["parts"][0]]
    assert kinds == ["functionCall", "functionResponse", "text"]
    assert None not in events[0].values()


def test_a_message_from_stdin(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("a.yaml", AGENT.format(model=scripted("- expect: {user: piped in}\n  text: got it\n")))
    assert project.newel("run", "a.yaml", "-", stdin="piped in").stdout == "got it\n"


def test_the_model_option_is_for_the_root_agent(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("a.yaml", AGENT.format(model="demo:"))
    result = project.newel("run", "a.yaml", "hi", "--model", scripted("- text: from the script\n"))
    assert (result.stdout, result.stderr) == ("from the script\n", "")


@pytest.mark.parametrize(
    ("expression", "output"),
    [("'done: ' + node_input", "done: hi\n"), ("{'said': [node_input]}", '{"said": ["hi"]}\n')],
)
def test_what_a_graph_comes_to_is_its_answer(project: Any, expression: str, output: str) -> None:
    lines = [
        "from newel.workflow import START, Workflow",
        "def begin(node_input: str): return node_input",
        f"def end(node_input): return {expression}",
        "root = Workflow(name='flow', edges=[(START, begin, end)])",
    ]
    project.write("graph_to_print.py", "\n".join(lines) + "\n")
    sys.modules.pop("graph_to_print", None)
    assert project.newel("run", "graph_to_print:root", "hi").stdout == output


def test_streaming(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("a.yaml", AGENT.format(model=scripted("- chunks: ['one ', 'two']\n")))
    assert project.newel("run", "a.yaml", "hi", "--stream").stdout == "one two\n"
    lines = project.newel("run", "a.yaml", "hi", "--stream", "--json").stdout.splitlines()
    assert [json.loads(line).get("partial", False) for line in lines] == [True, True, False]


@pytest.mark.parametrize("flags", [(), ("--stream",), ("--json",)])
def test_a_failed_run_is_one_line_and_status_one(
    project: Any, scripted: Callable[[str], str], flags: tuple[str, ...]
) -> None:
    project.write("a.yaml", AGENT.format(model=scripted("- raise: 'ConnectionError: the service is away'\n")))
    result = project.newel("run", "a.yaml", "hi", *flags)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: the run failed: ")
    assert "the service is away" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_error_response_is_status_one(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("a.yaml", AGENT.format(model=scripted("- error: SAFETY\n  message: blocked\n")))
    result = project.newel("run", "a.yaml", "hi")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Error: SAFETY: blocked\n")


def test_a_failing_tool_is_named_with_its_place(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("app/tools.py", 'def divide() -> float:\n    """Divide."""\n    return 1 / 0\n')
    project.write("app/root_agent.yaml", "name: x\ntools: [tools.divide]\n")
    project.write("adk.yaml", "name: strict\nextends: adk\n")
    result = project.newel(
        "run", "app", "hi", "--distribution", "adk.yaml", "--model", scripted("- call: divide\n- text: done\n")
    )
    assert result.exit_code == 1
    assert "division by zero" in result.stderr
    assert "tools.py:3 in divide" in result.stderr


def test_only_the_answer_is_printed(project: Any, scripted: Callable[[str], str]) -> None:
    project.write("app/tools.py", 'def look() -> str:\n    """Look."""\n    return "seen"\n')
    project.write("app/agent.yaml", "name: x\ntools: [tools.look]\n")
    steps = "- parts: [{text: Let me look.}, {function_call: {name: look, args: {}}}]\n- text: I see.\n"
    assert project.newel("run", "app", "hi", "--model", scripted(steps)).stdout == "I see.\n"


def test_a_session_goes_on(project: Any) -> None:
    for message, user in (("my name is Ada", "ada"), ("my name is Bob", "bob")):
        assert project.newel("run", WEATHER, message, "--session", "s", "--user", user).exit_code == 0
    assert "Ada" in project.newel("run", WEATHER, "what is my name?", "--session", "s", "--user", "ada").stdout
    assert "Ada" not in project.newel("run", WEATHER, "what is my name?", "--user", "ada").stdout
    assert project.files() == {".newel", ".newel/.gitignore", ".newel/sessions.db"}


def test_sessions_elsewhere(project: Any) -> None:
    project.newel("run", WEATHER, "hi", "--sessions", "memory:")
    assert project.files() == set()
    project.newel("run", WEATHER, "hi", "--sessions", "sqlite:///other.db")
    assert project.files() == {"other.db"}


def test_a_distribution_that_sets_the_sessions(project: Any) -> None:
    project.write("base.yaml", "name: base\nextends: standard\nservices: {session: 'sqlite:///mine.db'}\n")
    project.write("newel.yaml", "name: mine\nextends: base.yaml\n")
    project.newel("run", WEATHER, "hi")
    assert "mine.db" in project.files()
    assert ".newel/sessions.db" not in project.files()
    project.write("newel.yaml", "name: mine\nextends: standard\n")
    project.newel("run", WEATHER, "hi")
    assert ".newel/sessions.db" in project.files()


APP = "from newel.apps import App\napp = App(name='a', root_agent=root_agent)\n"
SOURCES = {
    "a package with agent.py": ("pack", {"pack/__init__.py": "from . import agent\n", "pack/agent.py": "CODE"}),
    "agent.py alone": ("pack", {"pack/agent.py": "CODE"}),
    "a package": ("pack", {"pack/__init__.py": "CODE"}),
    "module and attribute": ("somewhere:root_agent", {"somewhere.py": "CODE"}),
    "module alone": ("somewhere2:", {"somewhere2.py": "CODE"}),
    "an app": ("somewhere3:app", {"somewhere3.py": f"CODE\n{APP}"}),
    "its own name": ("pack4", {"pack4/words.py": "", "pack4/agent.py": "from pack4 import words\nCODE"}),
    "agent.yaml": ("pack", {"pack/agent.yaml": "name: found\nmodel: 'MODEL'\n"}),
    "a file": ("pack/x.yml", {"pack/x.yml": "name: found\nmodel: 'MODEL'\n"}),
}


@pytest.mark.parametrize(("reference", "files"), SOURCES.values(), ids=SOURCES)
def test_what_an_agent_may_be(
    project: Any, scripted: Callable[[str], str], reference: str, files: dict[str, str]
) -> None:
    model = scripted("- text: it works\n")
    code = f"from newel.agents import LlmAgent\nroot_agent = LlmAgent(name='found', model={model!r})\n"
    for name, text in files.items():
        project.write(name, text.replace("CODE", code).replace("MODEL", model))
    assert project.newel("run", reference, "hi").stdout == "it works\n"


TWINS = "name: root\nsub_agents: [{config_path: one.yaml}, {config_path: two.yaml}]\n"
WRONG = {
    "unknown model": (("run", "a.yaml", "hi", "--model", "gemni:x"), "unknown model 'gemni:x'; did you mean 'gemini:'"),
    "unknown model of the file": (("run", "model.yaml", "hi"), "unknown model 'gemma-nope'"),
    "missing key": (("run", "a.yaml", "hi", "--model", "gemini-2.5-flash"), "needs an API key: set GOOGLE_API_KEY"),
    "missing key below": (("run", "below.yaml", "hi"), "needs an API key: set GOOGLE_API_KEY"),
    "unknown tool": (("run", "tool.yaml", "hi"), "tool.yaml:2: no plugin provides the tool factory 'nope'"),
    "unknown agent": (("run", "nope.yaml", "hi"), "there is no agent 'nope.yaml'"),
    "misspelt agent": (("run", "aa.yaml", "hi"), "there is no agent 'aa.yaml'; did you mean 'a.yaml'?"),
    "unknown key": (("run", "key.yaml", "hi"), "key.yaml:2: unknown key 'nmae' in LlmAgent; did you mean 'name'?"),
    "duplicate key": (("run", "twice.yaml", "hi"), "twice.yaml:2: the key 'name' appears twice"),
    "alias": (("run", "alias.yaml", "hi"), "alias.yaml:1: anchors are not allowed"),
    "bomb": (("run", "bomb.yaml", "hi"), "bomb.yaml:1: anchors are not allowed"),
    "callable outside": (("run", "outside.yaml", "hi"), "outside.yaml:3: 'os.system' is not allowed here"),
    "unknown sub-agent": (("run", "sub.yaml", "hi"), "sub.yaml:2: config_path 'nope.yaml': there is no such YAML file"),
    "twins": (("run", "twins.yaml", "hi"), "two.yaml:1: two agents of the app are named 'child'"),
    "twins in code": (("run", "twins:root", "hi"), "are named 'child'"),
    "no message at all": (("run", "a.yaml"), "Missing argument 'MESSAGE'. (see `newel run --help`)"),
    "unknown option": (("run", "a.yaml", "hi", "--modle", "x"), "No such option '--modle'"),
    "unknown option of all": (("--nope",), "No such option '--nope'"),
    "unknown subcommand": (("plugins", "whi"), "No such command 'whi'"),
    "no message": (("run", "a.yaml", " "), "the message is empty"),
    "empty folder": (("run", "empty", "hi"), "the folder empty holds no agent; it needs root_agent.yaml"),
    "a module's file": (("run", "twins.py", "hi"), "twins.py is a module; give its folder, or twins:root_agent"),
    "no module": (("run", "nosuchmodule:x", "hi"), "the module 'nosuchmodule' cannot be imported"),
    "no attribute": (("run", "twins:rot", "hi"), "'twins' has no attribute 'rot'; did you mean 'root'?"),
    "no agent": (("run", "twins:LlmAgent", "hi"), "twins:LlmAgent is of type ModelMetaclass, neither an agent nor"),
    "a broken module": (("run", "broken", "hi"), "cannot be imported: NameError: name 'nonsense' is not defined"),
    "unknown distribution": (("run", "a.yaml", "hi", "--distribution", "standrd"), "did you mean 'standard'?"),
    "unknown store": (("run", "a.yaml", "hi", "--sessions", "bogus:x"), "no plugin provides a session store for 'bo"),
    "no database": (("run", "a.yaml", "hi", "--sessions", "sqlite:///a.yaml"), "cannot be opened"),
    "empty session": (("run", "a.yaml", "hi", "--session", ""), "--session '' is empty"),
    "blank session": (("run", "a.yaml", "hi", "--session", " x"), "--session ' x' is empty or has spaces around it"),
    "empty model": (("run", "a.yaml", "hi", "--model", ""), "--model '' is empty"),
    "chat": (("chat", "nope.yaml"), "there is no agent 'nope.yaml'"),
    "chat's model": (("chat", "a.yaml", "--model", "gemni:x"), "unknown model 'gemni:x'"),
    "chain": (("chain", "nope.yaml"), "there is no agent 'nope.yaml'"),
}


@pytest.fixture
def wrong(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, text in {
        "a.yaml": "name: a\nmodel: 'demo:'\n",
        "model.yaml": "name: a\nmodel: gemma-nope\n",
        "below.yaml": "name: a\nmodel: 'demo:'\nsub_agents: [{config_path: gemini.yaml}]\n",
        "gemini.yaml": "name: g\nmodel: gemini-2.5-flash\n",
        "tool.yaml": "name: a\ntools: [nope]\n",
        "key.yaml": "model: 'demo:'\nnmae: a\n",
        "twice.yaml": "name: a\nname: b\n",
        "alias.yaml": "name: &a x\ndescription: *a\n",
        "bomb.yaml": "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\n",
        "outside.yaml": "name: a\ntools:\n  - name: os.system\n    args: [{value: touch pwned}]\n",
        "sub.yaml": "name: a\nsub_agents: [{config_path: nope.yaml}]\n",
        "twins.yaml": TWINS,
        "one.yaml": "name: child\n",
        "two.yaml": "name: child\n",
        "twins.py": """
            from newel.agents import LlmAgent
            inner = LlmAgent(name="inner", sub_agents=[LlmAgent(name="child")])
            root = LlmAgent(name="root", sub_agents=[LlmAgent(name="child"), inner])
        """,
        "empty/readme.txt": "",
        "broken/agent.py": "nonsense\n",
    }.items():
        project.write(name, text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "twins", raising=False)
    return project


@pytest.mark.parametrize(("args", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_command_is_one_line_and_leaves_nothing(wrong: Any, args: tuple[str, ...], message: str) -> None:
    assert message in wrong.refused(*args)


def test_a_missing_sdk(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    monkeypatch.setitem(sys.modules, "google.genai", None)
    message = wrong.refused("run", "a.yaml", "hi", "--model", "gemini-2.5-flash")
    assert "pip install 'newel[gemini]'" in message


def test_the_root_agent_has_no_model(project: Any) -> None:
    project.write("a.yaml", "agent_class: SequentialAgent\nname: a\n")
    assert project.refused("run", "a.yaml", "hi", "--model", "demo:").startswith("--model: the root agent 'a' is a Seq")
