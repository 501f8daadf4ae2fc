"""ScriptedModel and ``script:FILE`` follow their steps exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from newel.agents import LlmAgent
from newel.models.kinds import model_of
from newel.models.script import create
from newel.testing import ScriptedModel, ScriptError, ScriptExhaustedError, ScriptLeftoverError, ScriptMismatchError
from newel_compose import compose
from newel_kernel import ConfigurationError, LlmRequest, LlmResponse, ModelError
from newel_types import Content, FunctionCall, Part


def double(n: int) -> int:
    """Doubles."""
    return 2 * n


def test_a_run_follows_the_steps(kit: Any) -> None:
    steps = [{"call": "double", "args": {"n": 4}}, "It is 8.", LlmResponse(error_code="SAFETY")]
    with ScriptedModel(steps) as model:
        talk = kit.Talk(LlmAgent(name="root", model=model, tools=[double]))
        events = talk.say("double four")
        assert kit.calls_of(events) == [("double", {"n": 4})]
        assert kit.text_of(events[-1]) == "It is 8."
        assert talk.say("again")[-1].error_code == "SAFETY"
    assert [len(request.contents) for request in model.requests][:2] == [1, 3]
    answered = model.requests[1].contents[-1].parts[0].function_response
    assert answered.response == {"result": 8}


def test_steps_of_several_parts(kit: Any) -> None:
    model = ScriptedModel(
        [
            {"calls": [{"call": "a"}, {"name": "b", "args": {"x": 1}, "id": "c-1"}]},
            [FunctionCall(name="a"), Part(text="and"), {"call": "b"}],
            {"parts": ["hm", {"function_call": {"name": "a", "args": {}}}, {"text": "so", "thought": True}]},
            Part(text="one"),
            Content(role="model", parts=[Part(text="two")]),
            {"response": {"content": {"role": "model", "parts": [{"text": "three"}]}, "finishReason": "STOP"}},
            {"error": "RESOURCE_EXHAUSTED", "message": "slow down"},
        ]
    )
    answers = [kit.ask(model, kit.request("hi"))[0] for _ in range(7)]
    assert kit.called(answers[0]) == [("a", {}), ("b", {"x": 1})]
    assert answers[0].content.parts[1].function_call.id == "c-1"
    assert [kit.called(answer) for answer in answers[1:3]] == [[("a", None), ("b", {})], [("a", {})]]
    assert answers[2].content.parts[2].thought is True
    assert [kit.text_of(answer) for answer in answers[3:6]] == ["one", "two", "three"]
    assert (answers[6].error_code, answers[6].error_message) == ("RESOURCE_EXHAUSTED", "slow down")
    model.assert_done()


def test_chunks_are_streamed_or_joined(kit: Any) -> None:
    given = [LlmResponse(partial=True, content=Content(parts=[Part(text="x")])), LlmResponse(turn_complete=True)]
    model = ScriptedModel([["a", "b"], {"chunks": ["a", "b"]}, given])
    streamed = kit.ask(model, kit.request("hi"), stream=True)
    assert [(kit.text_of(r), r.partial) for r in streamed] == [("a", True), ("b", True), ("ab", False)]
    (joined,) = kit.ask(model, kit.request("hi"))
    assert (kit.text_of(joined), joined.partial) == ("ab", None)
    assert kit.ask(model, kit.request("hi")) == given


def test_callables_see_the_request(kit: Any) -> None:
    async def later(request: LlmRequest) -> str:
        return f"{len(request.contents)} contents"

    model = ScriptedModel([lambda request: {"call": "double", "args": {"n": 1}}, later])
    assert kit.called(kit.ask(model, kit.request("hi"))[0]) == [("double", {"n": 1})]
    assert kit.text_of(kit.ask(model, kit.request("a", "b"))[0]) == "2 contents"


def test_delays(kit: Any) -> None:
    model = ScriptedModel([0.001, {"delay": 0.001, "text": "late"}])
    assert kit.text_of(kit.ask(model, kit.request("hi"))[0]) == "late"
    model.assert_done()


def test_one_request_too_many(kit: Any) -> None:
    model = ScriptedModel(["only"])
    talk = kit.Talk(LlmAgent(name="root", model=model))
    talk.say("one")
    with pytest.raises(ScriptExhaustedError, match="has 1 step, and request 2 came after the last one"):
        talk.say("two")
    with pytest.raises(ScriptExhaustedError):  # even where something handled the failure
        model.assert_done()


def test_steps_that_are_left_over() -> None:
    model = ScriptedModel(["one", "two"], model="mine")
    with pytest.raises(ScriptLeftoverError, match=r"'mine' has 2 steps, and 2 of them .* next is step 1"), model:
        pass
    with pytest.raises(KeyError), model:  # the first failure counts
        raise KeyError
    assert issubclass(ScriptLeftoverError, AssertionError)


def test_the_fixture_checks_at_the_end(kit: Any, scripted_model: Callable[..., ScriptedModel]) -> None:
    model = scripted_model(["hello"])
    assert kit.Talk(LlmAgent(name="root", model=model)).answer("hi") == "hello"


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ({"user": "Berlin"}, "the user's last message to contain 'Berlin', and it is 'weather in Paris'"),
        ({"tools": ["doubel"]}, "the tool 'doubel' to be declared; did you mean 'double'?"),
        ({"system": "kind"}, "the system instruction to contain 'kind'"),
        ({"contents": 4}, "4 contents, and there are 1"),
        ("Berlin", "contain 'Berlin'"),
    ],
)
def test_expectations(kit: Any, expect: Any, message: str) -> None:
    met = {"user": "Paris", "tools": ["double"], "system": "brief", "contents": 1}
    model = ScriptedModel([{"text": "ok", "expect": met}, {"text": "no", "expect": expect}])
    request = kit.request("weather in Paris", tools=[{"name": "double"}], system_instruction="Be brief.")
    kit.ask(model, request)
    with pytest.raises(ScriptMismatchError, match="step 2 of the script of 'scripted' expects") as caught:
        kit.ask(model, request)
    assert message in str(caught.value)
    with pytest.raises(ScriptError):
        model.assert_done()


def test_faults(kit: Any) -> None:
    steps = [
        ValueError("bad"),
        {"chunks": ["a", "b", "c"], "after": 2, "raise": "TimeoutError: too slow"},
        {"raise": "the line is dead"},
        {"raise": OSError},
    ]
    model = ScriptedModel(steps)
    with pytest.raises(ValueError, match="bad"):
        kit.ask(model, kit.request("hi"))
    seen: list[str] = []

    async def collect() -> None:
        async for response in model.generate_content_async(kit.request("hi"), stream=True):
            seen.append(kit.text_of(response))

    with pytest.raises(TimeoutError, match="too slow"):
        asyncio.run(collect())
    assert seen == ["a", "b"]
    with pytest.raises(ModelError, match="the line is dead"):
        kit.ask(model, kit.request("hi"))
    with pytest.raises(OSError, match=r"^$"):
        kit.ask(model, kit.request("hi"))


def test_a_hanging_model_can_be_cancelled(kit: Any) -> None:
    model = ScriptedModel([{"chunks": ["a"], "after": 1, "hang": True}])
    seen: list[str] = []

    async def collect() -> None:
        async for response in model.generate_content_async(kit.request("hi"), stream=True):
            seen.append(kit.text_of(response))

    async def run() -> None:
        await asyncio.wait_for(collect(), timeout=0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert seen == ["a"]


def test_malformed_answers(kit: Any) -> None:
    model = ScriptedModel([{"malformed": how} for how in (True, "empty", "nameless_call", "arguments")])
    foreign, empty, nameless, arguments = (kit.ask(model, kit.request("hi"))[0] for _ in range(4))
    assert foreign == "not a response"
    assert empty.content is None
    assert nameless.content.parts[0].function_call.name is None
    assert arguments.content.parts[0].function_call.args == "{not an object"


def test_a_foreign_answer_fails_the_run(kit: Any) -> None:
    agent = LlmAgent(name="root", model=ScriptedModel([{"malformed": True}]))
    with pytest.raises((ValidationError, ModelError)):
        kit.Talk(agent).say("hi")


def test_requests_are_copies(kit: Any) -> None:
    model = ScriptedModel(["one", "two"])
    request = kit.request("hi", labels={"a": "b"})
    kit.ask(model, request)
    request.contents[0].parts[0].text = "changed"
    request.config.labels["a"] = "changed"
    kit.ask(model, request)
    assert model.requests[0].contents[0].parts[0].text == "hi"
    assert model.requests[0].config.labels == {"a": "b"}


def test_an_answer_is_given_anew_each_time(kit: Any) -> None:
    response = LlmResponse(content=Content(role="model", parts=[Part(function_call=FunctionCall(name="double"))]))
    (given,) = kit.ask(ScriptedModel([response]), kit.request("hi"))
    given.content.parts[0].function_call.id = "changed"
    assert response.content is not None
    assert response.content.parts is not None
    assert response.content.parts[0].function_call.id is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"txet": "hi"}, "unknown key 'txet'; did you mean 'text'?"),
        ({"text": "a", "call": "b"}, "one of 'text' and 'call', not both"),
        ({"args": {}}, "'args' needs 'call' with it"),
        ({"text": "a", "hang": True}, "'hang' goes with 'chunks' only"),
        ({"raise": "x", "hang": True}, "ends with one of 'raise' and 'hang'"),
        ({"after": 1, "hang": True}, "'after' counts 'chunks'"),
        ({"chunks": ["a"], "after": 2, "hang": True}, "from 0 to 1"),
        ({"chunks": "ab"}, "'chunks' is a list"),
        ({"text": 3}, "'text' holds texts, not 3"),
        ({"delay": -1, "text": "a"}, "'delay' is a number of seconds, not -1"),
        ({"expect": {"toolz": []}, "text": "a"}, "unknown key 'toolz' in 'expect'; did you mean 'tools'?"),
        ({"calls": [{"call": "a", "arguments": {}}]}, "unknown key 'arguments' in a call"),
        ({"call": "a", "args": [1]}, "a mapping of arguments"),
        ({"malformed": "emty"}, "did you mean 'empty'?"),
        ({"response": {"content": 3}}, "'response' does not hold a valid LlmResponse"),
        ({}, "gives no answer"),
        ([], "an empty list is not a step"),
        (None, "None is not a step"),
    ],
)
def test_wrong_steps(step: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedModel(["fine", step])
    assert "step 2 of the script of 'scripted'" in str(caught.value)
    assert message in str(caught.value)


SCRIPT = """\
# A conversation.
- call: double
  args: {n: 4}
  expect:
    user: four
    tools: [double]
- It is 8.
- chunks: [He, llo]
"""


@pytest.mark.parametrize("form", ["list", "mapping", "json"])
def test_a_file(kit: Any, tmp_path: Path, form: str) -> None:
    text, name = SCRIPT, "steps.yaml"
    if form == "mapping":
        text = "steps:\n" + "".join(f"  {line}\n" for line in SCRIPT.splitlines())
    elif form == "json":
        text, name = '[{"call": "double", "args": {"n": 4}},\n "It is 8.", {"chunks": ["He", "llo"]}]', "steps.json"
    path = tmp_path / name
    path.write_text(text)
    talk = kit.Talk(LlmAgent(name="root", model=f"script:{path}", tools=[double]))
    events = talk.say("double four")
    assert kit.calls_of(events) == [("double", {"n": 4})]
    assert kit.text_of(events[-1]) == "It is 8."
    assert talk.answer("hi") == "Hello"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- text: a\n- call: b\n  text: hi\n", "steps.yaml:3: step 2: a step has one of 'call' and 'text'"),
        ("- text: a\n\n- delay: 0\n  txt: a\n", "steps.yaml:4: step 2: unknown key 'txt'; did you mean 'text'?"),
        ("- call: f\n  args:\n    txt: 1\n- txt: a\n", "steps.yaml:4: step 2: unknown key 'txt'"),
        ("steps:\n- call: f\n  expect:\n    usr: x\n", "steps.yaml:4: step 1: unknown key 'usr' in 'expect'"),
        ("- a\n- {}\n", "steps.yaml:2: step 2: the step gives no answer"),
        ("stepz: []\n", "steps.yaml:1: unknown key 'stepz'; did you mean 'steps'?"),
        ("just text\n", "steps.yaml:1: a script is a list of steps"),
        ("- a\n- [b\n", "steps.yaml:3: "),
        ("[{text: a},\n {txt: b}]\n", "steps.yaml:2: step 2: unknown key 'txt'"),
    ],
)
def test_faults_of_a_file_have_their_line(tmp_path: Path, monkeypatch: Any, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("steps.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        create("script:steps.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("script:", "names no file; give a YAML or JSON file of steps, as 'script:steps.yaml'"),
        ("script:missing.yaml", "does not exist: "),
        ("script:steps.txt", "names a .txt file"),
    ],
)
def test_wrong_addresses(address: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        model_of(compose("adk"), address)
    assert message in str(caught.value)
