"""More wrong inputs: agents, schemas, names, ids, files that are none, streams that are closed; each has its line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PRELUDE = """
from newel import Agent
from newel.testing import ScriptedModel
from newel.types import FunctionCall

model = ScriptedModel(["hi"])
"""
A = {"a.yaml": "name: a\nmodel: 'demo:'\n"}
AGENT, YAML = ("run", "app", "hi"), ("run", "a.yaml", "hi")
SET = '{"eval_set_id": "s", "eval_cases": []%s}'
#: What a link of this name leads to.
LOOP = object()
#: Files, the command, the status, and what the first line says.
Case = tuple[dict[str, Any], tuple[str, ...], int, str]


def code(body: str, says: str, status: int = 2) -> Case:
    return {"app/__init__.py": "", "app/agent.py": PRELUDE + body}, AGENT, status, says


def agent(text: str | bytes, says: str, status: int = 2, **more: str) -> Case:
    return (
        {"app/root_agent.yaml": text, **{f"app/{name}.yaml": body for name, body in more.items()}},
        AGENT,
        status,
        says,
    )


def mine(text: str | bytes, says: str, **more: Any) -> Case:
    return {**A, "newel.yaml": text, **{f"{name}.yaml": body for name, body in more.items()}}, YAML, 2, says


def typed(says: str, *command: str, status: int = 2, **files: Any) -> Case:
    return {**A, **{name.replace("__", "."): body for name, body in files.items()}}, command, status, says


EXTENDS = "name: x\nextends: standard\n"
CASES: dict[str, Case] = {
    # --- trees of agents ------------------------------------------------------------------------------------------
    "a file twice in a tree": agent(
        "name: a\nsub_agents: [b.yaml, b.yaml]\n", "b.yaml:1: two agents of the app are n", b="name: b\n"
    ),
    "an agent with two parents": code(
        "b = Agent(name='b')\nc = Agent(name='c', sub_agents=[b])\nroot_agent = Agent(name='a', sub_agents=[b, c])\n",
        "agent 'b' already has the parent 'c'; it cannot be a sub-agent of 'a' as well (use clone()) (agent.py:9)",
    ),
    "a file in itself": agent("name: a\nsub_agents: [root_agent.yaml]\n", "in a cycle (root_agent.yaml -> root_agent"),
    "a circle of files": agent(
        "name: a\nsub_agents: [b.yaml]\n",
        "in a cycle (root_agent.yaml -> b.yaml -> root_",
        b="name: b\nsub_agents: [root_agent.yaml]\n",
    ),
    "a child of its parent's name": agent(
        "name: a\nsub_agents: [b.yaml]\n", "b.yaml:1: two agents of the app are named", b="name: a\n"
    ),
    "siblings of one name": agent(
        "name: a\nsub_agents: [b.yaml, c.yaml]\n",
        "c.yaml:1: two agents of the app are named",
        b="name: b\n",
        c="name: b\n",
    ),
    "an agent named user": agent("name: user\n", "root_agent.yaml:1: name: an agent cannot be named 'user'"),
    "an agent of no name": agent("name: ''\n", "root_agent.yaml:1: name: invalid agent name ''"),
    "an agent that is a number": agent("name: 3\n", "root_agent.yaml:1: name: Input should be a valid string"),
    "an agent whose name is huge": agent(f"name: {'x' * 300_000}\n", "the file is larger than 256 KiB; split it"),
    # --- tools and schemas ----------------------------------------------------------------------------------------
    "a tool of the transfer's name": code(
        "def transfer_to_agent(): ...\n"
        "root_agent = Agent(name='a', model=model, tools=[transfer_to_agent], sub_agents=[Agent(name='b')])\n",
        "agent 'a' has two tools named 'transfer_to_agent', one is newel.tools.transfer_to_agent_tool.",
    ),
    "no tool at all": code(
        "root_agent = Agent(name='a', model=model, tools=[None])\n", "None is not a tool: no adapter"
    ),
    "tools that are no list": code(
        "root_agent = Agent(name='a', tools=len)\n", "FieldError: LlmAgent 'a': tools must be a list"
    ),
    "a parameter of a plain class": code(
        "class T: ...\ndef f(x: T): ...\nroot_agent = Agent(name='a', model=model, tools=[f])\n",
        "the tool 'f' cannot be described to a model: x: T (",
    ),
    "a schema that is a number": code(
        "root_agent = Agent(name='a', output_schema=3)\n",
        "LlmAgent 'a': output_schema: 3 cannot be made from JSON; a pydantic class, a dataclass",
    ),
    "a schema that is a text": code(
        "root_agent = Agent(name='a', output_schema='Thing')\n", "'Thing' cannot be made from"
    ),
    "a schema that is a function": code(
        "def f(): ...\nroot_agent = Agent(name='a', output_schema=f)\n", "LlmAgent 'a': output_schema: <function f at"
    ),
    "a schema that is a plain class": code(
        "class T: ...\nroot_agent = Agent(name='a', output_schema=T)\n",
        "agent.T'> cannot be made from JSON; a pydantic class",
    ),
    "an input schema that is a number": code(
        "root_agent = Agent(name='a', input_schema=3)\n", "input_schema: 3 cannot be"
    ),
    "a schema of no module": agent(
        "name: a\noutput_schema: Thing\n", "root_agent.yaml:2: 'Thing' is not a name of the f"
    ),
    # --- what stands in a file of an agent ------------------------------------------------------------------------
    "two documents": agent("name: a\n---\nname: b\n", "root_agent.yaml:2: but found another document: remove the line"),
    "a list of agents": agent(
        "- name: a\n", "root_agent.yaml:1: the file is empty or not a mapping; an agent file has"
    ),
    "anchors": agent("x: &a [1]\nname: a\n", "root_agent.yaml:1: anchors are not allowed; remove &a"),
    "a tag": agent("name: !!python/name:os.system ''\n", "root_agent.yaml:1: tags are not allowed; remove '!!python"),
    "a key twice": agent("name: a\nname: b\n", "root_agent.yaml:2: the key 'name' appears twice; keep one of them"),
    "a merge key": agent("name: a\n<<: 3\n", "root_agent.yaml:2: merge keys (<<) are not allowed; write the values"),
    "brackets without end": agent(f"name: a\nx: {'[' * 2000}{']' * 2000}\n", "yaml:2: nested deeper than 32 levels;"),
    "a temperature in words": agent(
        "name: a\ngenerate_content_config: {temperature: hot}\n",
        "root_agent.yaml:2: generate_content_config.temperature: Input should be a valid",
    ),
    "a model that is a number": agent(
        "name: a\nmodel: 3\n", "root_agent.yaml:2: model: expected a string, not int; put"
    ),
    "no variable": agent(
        "name: ${}\n", "root_agent.yaml:1: '${}' is not a reference to an environment variable; write"
    ),
    "Latin 1": agent(
        b"name: a\ninstruction: caf\xe9\n", "root_agent.yaml:2: the file is not UTF-8 text; save it as UTF"
    ),
    "UTF 16": agent("name: a\n".encode("utf-16"), "root_agent.yaml:1: the file is not UTF-8 text; save it as UTF-8"),
    "a state that nobody set": agent(
        "name: a\nmodel: 'demo:'\ninstruction: 'Hello {nobody}'\n",
        "`nobody`.'; in the instruction of the agent 'a'; write {name?} for what may be missing",
        1,
    ),
    "an artifact without a store": agent(
        "name: a\nmodel: 'demo:'\ninstruction: 'Hello {artifact.x}'\n",
        "; in the instruction of the agent 'a'; write",
        1,
    ),
    # --- what is no file ------------------------------------------------------------------------------------------
    "an agent that is a link to itself": typed(
        "b.yaml is not a file that holds an agent: it is a broken link", "run", "b.yaml", "hi", b__yaml=LOOP
    ),
    "an agent that is a device": typed(
        "/dev/null is not a file that holds an agent: it is a pipe", "run", "/dev/null", "hi"
    ),
    "an agent that is a text": typed(
        "notes.txt is not a file that holds an agent: give a YAML file (.yaml or .yml)",
        "run",
        "notes.txt",
        "hi",
        notes__txt="hello",
    ),
    "an agent that is an empty folder": typed(
        "the folder box.yaml holds no agent; it needs root_agent.yaml", "run", "box.yaml", "hi", **{"box.yaml/x": ""}
    ),
    "a path of another system": typed(
        "there is no agent 'C:\\\\agents\\\\a.yaml'; give", "run", r"C:\agents\a.yaml", "hi"
    ),
    "a distribution that is a link to itself": mine(
        LOOP, "newel.yaml is not a file, as a distribution must be; remove the link"
    ),  # type: ignore[arg-type]
    "a lock that is a link to itself": typed("newel.lock cannot be read: Too many levels", *YAML, newel__lock=LOOP),
    "an empty lock": typed("newel.lock is not a lock file (Invalid JSON: EOF while", *YAML, newel__lock=""),
    "a store that is a text": typed(
        "s.db' cannot be opened: file is not a database; it is another kind of file",
        *YAML,
        "--sessions",
        "sqlite:///s.db",
        s__db="no database at all, but a text" * 9,
    ),
    "a store of no name": typed("'sqlite:///' names no file for the session store", *YAML, "--sessions", "sqlite:///"),
    # --- distributions --------------------------------------------------------------------------------------------
    "a distribution in Latin 1": mine(b"name: caf\xe9\n", "newel.yaml:1: not UTF-8 text (invalid continuation byte)"),
    "a distribution of itself": mine("name: x\nextends: newel.yaml\n", "distributions extend each other in a cycle: "),
    "a circle of distributions": mine(
        "name: x\nextends: b.yaml\n",
        "distributions extend each other in a cycle: ",
        b="name: b\nextends: newel.yaml\n",
    ),
    "a distribution of nobody": mine(
        "name: x\nextends: other.yaml\n", "unknown distribution 'other.yaml' (known: adk, m"
    ),
    "a section twice": mine(f"{EXTENDS}plugins: []\nplugins: []\n", "newel.yaml:4: the key 'plugins' appears twice"),
    "a stage that nobody has": mine(f"{EXTENDS}request_chain: [contnts]\n", "provides; did you mean 'contents'?"),
    "a stage twice": mine(
        f"{EXTENDS}request_chain: [basic, basic]\n", "request_chain: the distribution lists 'basic' tw"
    ),
    "no store": mine(
        f"{EXTENDS}services: {{session: ''}}\n", "'x' has no session store, because services.session is empty: set one"
    ),
    "a store that is a number": mine(
        f"{EXTENDS}services: {{session: 3}}\n", "services.session: expected a string, not int"
    ),
    "fewer threads than none": mine(
        f"{EXTENDS}settings: {{tool_threads: {{max_workers: -1}}}}\n", "settings of 'tool_threads' (newel "
    ),
    # --- names of models ------------------------------------------------------------------------------------------
    "no model": typed("--model '' is empty or has spaces around it; change it or leave", *YAML, "--model", ""),
    "a colon": typed("unknown model ':' (providers: ", *YAML, "--model", ":"),
    "a script that is not there": typed(
        "the script of the model 'script:no.yaml' does not exist", *YAML, "--model", "script:no.yaml"
    ),
    "a script in a folder": typed(
        "the script of the model 'script:d.yaml' cannot be read", *YAML, "--model", "script:d.yaml", **{"d.yaml/x": ""}
    ),
    "an empty script": typed("e.yaml:1: a script is a list of steps", *YAML, "--model", "script:e.yaml", e__yaml=""),
    # --- ids and evaluations --------------------------------------------------------------------------------------
    **{
        f"a session to {what} that is not there": typed(
            "the app 'a' has no session 'nope'; `newel sessions list` shows",
            "sessions",
            what,
            "a.yaml",
            "nope",
            *options,
        )
        for what, options in (("show", ()), ("export", ()), ("replay", ()), ("verify", ()), ("delete", ("--yes",)))
    },
    "nothing to go on with": typed(
        "the user 'user' has no session with 'a'; leave out --continue", *YAML, "--continue"
    ),
    "a session of no id": typed("--session '' is empty or has spaces around it", *YAML, "--session", ""),
    "a set that is not there": typed(
        "there is neither a file nor an eval set 'no.json'", "eval", "a.yaml", "no.json", status=1
    ),
    "an empty set": typed("s.json is not JSON: Expecting value: line 1", "eval", "a.yaml", "s.json", s__json=""),
    "a set of bytes": typed(
        "s.json:2: the file is not UTF-8 text; save it as UTF-8", "eval", "a.yaml", "s.json", s__json=b"{\n\xff\xfe"
    ),
    "a set without cases": typed(
        "there is no case to run: the sets are empty", "eval", "a.yaml", "s.json", status=1, s__json=SET % ""
    ),
    "a set with a misspelt key": typed(
        "s.json is not an eval set: nmae: Extra inputs are not permitted",
        "eval",
        "a.yaml",
        "s.json",
        s__json=SET % ', "nmae": 1',
    ),
    "a config that is not there": typed(
        "there is no config file no.json", "eval", "a.yaml", "s.json", "--config", "no.json", status=1, s__json=SET % ""
    ),
    "a config of bytes": typed(
        "c.json:1: the file is not UTF-8 text",
        "eval",
        "a.yaml",
        "s.json",
        "--config",
        "c.json",
        s__json=SET % "",
        c__json=b"\xff",
    ),
    "a run that is not there": typed(
        "Invalid value for 'BEFORE': File 'b' does not exist.", "eval", "compare", "b", "c"
    ),
    # --- other commands -------------------------------------------------------------------------------------------
    "a picture that nobody draws": typed(
        "Invalid value for '--format': 'bmp' is not one of", "graph", "a.yaml", "--format", "bmp"
    ),
    "a new agent outside": typed(
        "'../x' cannot be used as a name: write lower-case letters, digits", "new", "agent", "../x"
    ),
    "a new agent in another script": typed(
        "'é' cannot be used as a name: write lower-case letters", "new", "agent", "é"
    ),
    "a new agent where something is": typed(
        "w already exists; choose another name", "new", "agent", "w", **{"w/x": ""}
    ),
    "a shell that has no completion": typed("'tcsh' is not one of 'bash', 'fish', 'zsh'.", "completion", "tcsh"),
    "settings of nobody": typed("no plugin 'nope' is installed", "plugins", "settings", "nope"),
    "a state that no plugin has": typed(
        "Invalid value for '--state': 'bad' is not one of", "plugins", "list", "--state", "bad"
    ),
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each case imports its own modules."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "app" or name.startswith("app_"):
            del sys.modules[name]


def put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is LOOP:
        path.symlink_to(path.name)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_line(project: Any, case: Case) -> None:
    files, command, status, says = case
    for name, content in files.items():
        put(project.path / name, content)
    result = project.newel(*command)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert lines, "it says nothing"
    assert says in lines[0]
    assert "Traceback" not in result.stderr
    assert result.exit_code == status


def test_there_are_enough() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""], ids=["with a mark", "without"])
def test_a_file_of_another_system_is_read(project: Any, mark: bytes) -> None:
    put(project.path / "a.yaml", mark + b"name: a\r\nmodel: 'demo:'\r\n")
    put(project.path / "newel.yaml", mark + b"name: x\r\nextends: standard\r\n")
    put(project.path / "s.json", mark + (SET % "").encode())
    assert "the agent 'a'" in project.newel(*YAML).stdout
    assert "there is no case to run" in project.newel("eval", "a.yaml", "s.json").stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_stops_nothing(project: Any, closed: str) -> None:
    put(project.path / "a.yaml", A["a.yaml"])
    done = project.shell(f'"{sys.executable}" -m newel.cli.main run a.yaml hi {closed}')
    assert done.returncode == 0
    assert "Error" not in done.stderr
    assert ("the agent 'a'" in done.stdout) is (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk")
def test_a_disk_that_is_full_is_told(project: Any) -> None:
    put(project.path / "a.yaml", A["a.yaml"])
    done = project.shell(f'"{sys.executable}" -m newel.cli.main plugins list > /dev/full')
    assert done.returncode == 1
    assert "OSError: [Errno 28] No space left on device; --debug shows the traceback" in done.stderr


def test_a_folder_that_is_gone_is_told(project: Any) -> None:
    put(project.path / "a.yaml", A["a.yaml"])
    done = project.shell(
        f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m newel.cli.main run a.yaml hi'
    )
    assert done.returncode == 2
    assert "the working directory no longer exists; change to one that does" in done.stderr


@pytest.mark.parametrize(
    "setting", ["LC_ALL=C", "LC_ALL=POSIX PYTHONUTF8=0 PYTHONCOERCECLOCALE=0", "PYTHONIOENCODING=ascii"]
)
def test_a_locale_without_letters_stops_nothing(project: Any, setting: str) -> None:
    put(project.path / "a.yaml", A["a.yaml"])
    done = project.shell(f'env {setting} "{sys.executable}" -m newel.cli.main run a.yaml grüße')
    assert done.returncode == 0
    assert "grüße" in done.stdout
