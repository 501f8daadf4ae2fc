"""Fields that do not fit: an error of one line, which says whose field it is, what it must be and what it is."""

from __future__ import annotations

import ast
import os
import re
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import LazyLoader, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import ValidationError

import newel_compose
from newel import Agent, App, Runner, Workflow, run, types
from newel.agents import LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.apps import EventsCompactionConfig, ResumabilityConfig
from newel.events import Event
from newel.testing import ScriptedModel
from newel.workflow import JoinNode, RetryConfig
from newel_compose import describe_error, place_of
from newel_kernel import ConfigurationError, HookSignatureError, ModelError
from newel_types import FieldError, caller_place, made_at, names_secret

ANY: Any = Agent
a = Agent(name="a")
SECRET = "sk-0123456789-0123456789-0123456789"

#: A wrong program and what it says.
WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: ANY(name="x", model=3),
        "LlmAgent 'x': model must be a string or a dictionary or instance of BaseLlm, not",
    ),
    (lambda: ANY(name="x", model=["m"]), "instance of BaseLlm, not a value of the type list"),
    (lambda: ANY(name="x", tools=3), "LlmAgent 'x': tools must be a list, not 3 (int)"),
    (
        lambda: ANY(name="x", sub_agents=["b"]),
        "sub_agents.0 must be a dictionary or instance of BaseAgent, not 'b' (str)",
    ),
    (lambda: ANY(name="x", sub_agents=None), "sub_agents must be a list, not None (NoneType)"),
    (
        lambda: ANY(name="x", parent_agent=a),
        "LlmAgent 'x': parent_agent cannot be given: the parent adopts its sub-agents",
    ),
    (lambda: SequentialAgent(name="x", parent_agent=a), "sub_agents=[this_agent]"),
    (lambda: Workflow(name="x", edges=[("START", a)], parent_agent=a), "Workflow 'x': parent_agent cannot be given"),
    (lambda: ANY(name="x y"), "LlmAgent 'x y': name: invalid agent name 'x y': use letters, digits and underscores"),
    (lambda: ANY(name=3), "LlmAgent: name must be a string, not 3 (int)"),
    (lambda: ANY(), "LlmAgent: name must be given"),
    (lambda: ANY(name="x", description=3), "LlmAgent 'x': description must be a string, not 3 (int)"),
    (lambda: ANY(name="x", output_schema=3), "LlmAgent 'x': output_schema: 3 cannot be made from JSON"),
    (lambda: ANY(name="x", include_contents="all"), "include_contents must be 'default' or 'none', not 'all' (str)"),
    (
        lambda: ANY(name="x", generate_content_config={"temperature": "hot"}),
        "LlmAgent 'x': generate_content_config.temperature must be a number, not 'hot' (str)",
    ),
    (lambda: ANY(name="x", generate_content_config={"temprature": 1}), "temprature: there is no such field"),
    (
        lambda: ANY(name="x", instructions="Help."),
        "LlmAgent 'x': there is no field 'instructions'; did you mean 'instruction'?",
    ),
    (lambda: ANY(name="x", tols=[], model=3), "did you mean 'tools'?"),
    (
        lambda: ANY(name="x", sub_agents=[Agent(name="b"), Agent(name="b")]),
        "LlmAgent 'x': agent 'x' has two sub-agents named 'b'",
    ),
    (
        lambda: ANY(name="x", before_model_callback=3),
        "agent 'x': before_model_callback must be a callable or a list of",
    ),
    (
        lambda: LoopAgent(name="x", max_iterations="two"),
        "LoopAgent 'x': max_iterations must be an integer, not 'two' (str)",
    ),
    (lambda: ParallelAgent(name="x", sub_agents=3), "ParallelAgent 'x': sub_agents must be a list, not 3 (int)"),
    (lambda: App(name="a b", root_agent=a), "App 'a b': name: invalid app name 'a b': use letters, digits"),
    (lambda: App(name="x", root_agent=3), "App 'x': root_agent must be a dictionary or instance of BaseAgent, not 3"),  # type: ignore[arg-type]
    (lambda: App(name="x"), "App 'x': root_agent must be given"),
    (lambda: App(name="x", root_agent=a, plugin=[]), "App 'x': there is no field 'plugin'; did you mean 'plugins'?"),  # type: ignore[call-arg]
    (lambda: Workflow(name="x", edges=[3]), "Workflow 'x': edges: edges[0] is 3 (int); an entry is an Edge or a chain"),
    (lambda: JoinNode(name="x", timeout=-1), "JoinNode 'x': timeout must be greater than 0, not -1 (int)"),
    (lambda: JoinNode(name="1"), "JoinNode '1': name: invalid node name '1': it must be a Python identifier"),
    (lambda: RetryConfig(max_attempts="many"), "RetryConfig: max_attempts must be an integer, not 'many' (str)"),
    (lambda: RunConfig(max_llm_calls="x"), "RunConfig: max_llm_calls must be an integer, not 'x' (str)"),
    (lambda: RunConfig(streaming_mode="x"), "RunConfig: streaming_mode must be None, 'sse' or 'bidi', not 'x' (str)"),
    (lambda: RunConfig(max_calls=3), "RunConfig: max_calls: there is no such field"),  # type: ignore[call-arg]
    (
        lambda: ResumabilityConfig(is_resumable="maybe"),
        "ResumabilityConfig: is_resumable must be a boolean, not 'maybe' (str)",
    ),
    (
        lambda: EventsCompactionConfig(compaction_interval="x"),
        "EventsCompactionConfig: compaction_interval must be an integer",
    ),
    (
        lambda: types.GenerateContentConfig(temperature="hot"),
        "GenerateContentConfig: temperature must be a number, not 'hot'",
    ),
    (
        lambda: types.Content.model_validate({"parts": [3]}),
        "Content: parts.0 must be a dictionary or an instance of Part, not 3",
    ),
    (lambda: types.Content.model_validate_json('{"role": 3}'), "Content: role must be a string, not 3 (int)"),
    (lambda: Event.model_validate({"author": 3}), "Event: author must be a string, not 3 (int)"),
    (lambda: Runner(agent=3, app_name="x"), "the agent of a runner is 3 (int), which is not an agent"),  # type: ignore[arg-type]
    (lambda: Runner(agent=a, app_name="x", session_service=3), "session_service is 3 (int)"),  # type: ignore[arg-type]
    (lambda: run(a, 3), "the message is 3 (int); give a text"),
    (lambda: run(a, "hi", run_config={}), "run() has no option 'run_config'; for the options of a run make a Runner"),  # type: ignore[call-arg]
    (lambda: run(a, "hi", distributon="adk"), "run() has no option 'distributon'; did you mean 'distribution'?"),  # type: ignore[call-arg]
    (
        lambda: ANY(name="x", output_schema=RetryConfig()),
        "LlmAgent 'x': output_schema: it is an object of RetryConfig; give the class itself, without a call",
    ),
    (lambda: Runner(agent=a, app=App(name="x", root_agent=a)), "Runner takes either `app`, or `agent`"),
    (
        lambda: run(Agent(name="only_here_too", model=ScriptedModel(["y"]), tools=[3]), "go"),
        "(test_field_errors.py:%d): 3 is not a tool: no adapter accepts it",
    ),
    (
        lambda: run(Agent(name="of_text", model=ScriptedModel(["y"]), tools=["look"]), "go"),
        "'look' is not a tool: no adapter accepts it (adapters: declarations, functions, langchain); give the function",
    ),
    (
        lambda: a.clone({"parent_agent": a}),
        "clone() cannot set parent_agent: pass the clone to its parent's sub_agents",
    ),
]


@pytest.mark.parametrize(("program", "says"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_program_gets_one_line(program: Callable[[], object], says: str) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        program()
    text = str(caught.value)
    assert says.replace("%d", str(program.__code__.co_firstlineno)) in text
    assert len(text.splitlines()) == 1
    if not text.startswith(("Content: ", "Event: ")):  # data: what they come from is known to the caller
        assert re.search(r" \(test_field_errors\.py:\d+\)", text)


def test_it_is_pydantics_error_with_the_same_details() -> None:
    with pytest.raises(ValidationError) as caught:
        ANY(name="x", model=3, tols=[])
    assert isinstance(caught.value, FieldError)
    assert [one["loc"] for one in caught.value.errors()] == [("model", "str"), ("model", "BaseLlm"), ("tols",)]


@pytest.mark.parametrize("message", [[{"role": "user", "content": "Hi"}], [None], [{}]])
def test_messages_of_another_library_are_refused(message: list[Any]) -> None:
    with pytest.raises(ConfigurationError, match="the message has an empty part; pass text or at least one part, as"):
        run(Agent(name="a", model=ScriptedModel(["y"])), message)


def test_an_instruction_without_its_state_names_agent_file_and_remedy() -> None:
    with pytest.raises(KeyError, match="customer") as caught:
        run(Agent(name="server", model=ScriptedModel(["y"]), instruction="Serve {customer}."), "Hi")
    (note,) = (one for one in caught.value.__notes__ if "instruction" in one)
    assert re.search(r"of the agent 'server' \(test_field_errors\.py:\d+\); write \{name\?\}", note)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"sub_agents": [SECRET]}, "a value of the type str"),
        ({"sub_agents": ["hunter2hunter2"]}, "a value of the type str"),
        ({"generate_content_config": {"temperature": SECRET}}, "a value of the type str"),
        ({"generate_content_config": {"http_options": {"headers": {"X-Api-Key": 31337}}}}, "a value of the type int"),
        ({"generate_content_config": {"http_options": {"headers": {"authorization": None}}}}, "None (NoneType)"),
        ({"generate_content_config": {"http_options": {"headers": {"secret_key": 31337}}}}, "a value of the type int"),
        ({"generate_content_config": {"http_options": {"headers": "hunter2"}}}, "'hunter2' (str)"),
        ({"generate_content_config": {"max_output_tokens": "many"}}, "'many' (str)"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(FieldError) as caught:
        ANY(name="x", **fields)
    assert f", not {said} (test_field_errors.py:" in str(caught.value)
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("api_key", "clientSecret", "X-Auth-Token", "password", "Cookie", "private_key")),
        *((name, True) for name in ("secret_key", "secretKey", "aws_secret_access_key", "encryption_key", "hmac_key")),
        *((name, True) for name in ("passwords", "tokens", "bearer_tokens", "refreshTokens", "credentials_json")),
        *((name, False) for name in ("max_tokens", "token_count", "secretary", "keys", "passage", "monkey", "")),
        *((name, False) for name in ("input_tokens", "tokens_per_minute", "passwordless", "token_endpoint")),
    ],
)
def test_names_that_say_that_there_is_a_secret(name: str, is_one: bool) -> None:
    assert names_secret(name) is is_one


MODULE = """
from newel import Agent
def built():
    return Agent(
        name="only_here", model="nosuch:1")
twice = [
    Agent(name="twice", model="nosuch:1"),
    Agent(name="twice", model="nosuch:1"),
]
"""


def test_an_error_of_a_run_says_where_the_agent_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_desk.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    desk = import_module("my_desk")
    monkeypatch.setitem(sys.modules, "my_desk", desk)  # so that it is forgotten
    with pytest.raises(ModelError, match=r"^agent 'only_here' \(my_desk\.py:4\): unknown model 'nosuch:1'"):
        run(desk.built(), "Hi")
    with pytest.raises(ModelError, match=r"^agent 'twice': unknown model"):  # nobody knows which one
        run(desk.twice[1], "Hi")


class Odd:
    """An object without a name where a module is expected."""

    __file__ = "odd.py"


def test_modules_that_import_or_raise_as_they_are_read_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "late.py"
    source.write_text("import not_installed_at_all", encoding="utf-8")
    spec = spec_from_file_location("late", source)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = LazyLoader(spec.loader)
    late = module_from_spec(spec)
    spec.loader.exec_module(late)
    monkeypatch.setitem(sys.modules, "late", late)
    monkeypatch.setitem(sys.modules, "odd", Odd())
    with pytest.raises(ModelError, match=r"^agent 'beside_odd_ones' \(test_field_errors\.py:\d+\): unknown model"):
        run(Agent(name="beside_odd_ones", model="nosuch:1"), "Hi")


def test_a_place_is_looked_for_once_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "my_shop.py"
    source.write_text("Agent(name='of_the_shop')", encoding="utf-8")
    module = ModuleType("my_shop")
    module.__file__ = str(source)
    monkeypatch.setitem(sys.modules, "my_shop", module)
    parsed = Mock(wraps=ast.parse)
    monkeypatch.setattr(ast, "parse", parsed)
    asked = Mock(wraps=sysconfig.get_path)
    monkeypatch.setattr(sysconfig, "get_path", asked)
    assert made_at("of_the_shop", "Agent") == " (my_shop.py:1)"
    assert parsed.called
    assert asked.call_count <= 4  # not once for each module
    parsed.reset_mock()
    assert made_at("of_the_shop", "Agent") == " (my_shop.py:1)"
    assert not parsed.called
    source.write_text("\nAgent(name='of_the_shop')", encoding="utf-8")
    os.utime(source, (1, 1))
    assert made_at("of_the_shop", "Agent") == " (my_shop.py:2)"


#: Files that are not the user's, each with the names of its module.
PROGRAMS = {
    "installed": (f"{sysconfig.get_path('purelib')}/click/core.py", {"__name__": "click.core"}),
    "installed elsewhere": ("/opt/x/site-packages/uvicorn/server.py", {"__name__": "uvicorn.server"}),
    "of Debian": ("/usr/lib/python3/dist-packages/click/core.py", {"__name__": "click.core"}),
    "a program": (f"{sysconfig.get_path('scripts')}/uvicorn", {"__name__": "__main__"}),
    "newel itself": ("/src/newel/cli/main.py", {"__name__": "__main__", "__package__": "newel.cli"}),
}


@pytest.mark.parametrize("file", PROGRAMS)
def test_a_place_is_never_a_line_of_what_is_installed(file: str) -> None:
    path, names = PROGRAMS[file]
    values: dict[str, Any] = {"caller_place": caller_place, **names}
    exec(compile("def called():\n    return caller_place()", path, "exec"), values)
    assert re.fullmatch(r" \(test_field_errors\.py:\d+\)", values["called"]())
    with ThreadPoolExecutor(1) as pool:  # a thread begins with lines of Python's own
        assert pool.submit(values["called"]).result() == ""


@pytest.mark.parametrize(
    "program",
    [
        lambda: ANY(name="x", tools=3),
        lambda: ANY(name="x", before_model_callback=lambda wrong: None),
        lambda: a.clone({"parent_agent": a}),
        lambda: run(a, 3),  # type: ignore[arg-type]
    ],
)
def test_a_place_is_written_once(program: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        program()
    assert describe_error(caught.value).count("(test_field_errors.py:") == 1
    assert place_of(ValueError("no line (other.py:1)").with_traceback(caught.value.__traceback__)) != ""


def test_what_an_error_of_a_callback_holds_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newel_compose, "as_callbacks", Mock(side_effect=HookSignatureError("no such hook", 7)))
    with pytest.raises(HookSignatureError, match=r"no such hook.*\(test_field_errors\.py:\d+\)") as caught:
        ANY(name="x", before_model_callback=print)
    assert caught.value.args[1:] == (7,)


def test_within_another_model_the_place_is_the_whole_one() -> None:
    with pytest.raises(FieldError) as caught:
        App(name="x", root_agent={"name": "y", "sub_agents": 3})  # type: ignore[arg-type]
    assert str(caught.value).startswith("App 'x': root_agent.sub_agents must be a list, not 3 (int) (test_field_")
