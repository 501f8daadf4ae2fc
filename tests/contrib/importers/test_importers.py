"""Cases of pydantic-evals, openai-evals and promptfoo, read and run."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.evaluation import EvalCase, EvalConfig, EvalSet, RunOptions, evaluate
from newel.evaluation.kinds import CaseSource
from newel.evaluation.metrics.scoring import answer_of, text_of
from newel.evaluation.plugins import GROUP
from newel.models import BaseLlm
from newel_compose import compose
from newel_importers import plugin
from newel_kernel import ConfigurationError, LlmResponse
from newel_types import Content, Part

ONE = RunOptions(parallelism=1)
SOURCES = compose("adk", plugins=[plugin], groups=(GROUP,)).registry.all(CaseSource)

DATASET = """
# yaml-language-server: $schema=capitals_schema.json
name: capitals
cases:
  - name: capital of France
    inputs: What is the capital of France?
    expected_output: Paris
    metadata: {difficulty: easy}
    evaluators: [EqualsExpected, {MaxDuration: 5}]
  - inputs: {country: Spain}
    evaluators:
      - Contains: {value: madrid, case_sensitive: false}
      - LLMJudge: {rubric: It is polite., model: openai:gpt-4o}
  - name: capital of France
    inputs: And where is the tower?
    evaluators: [{HasMatchingSpan: {query: {name_equals: search}}}]
evaluators:
  - IsInstance: str
"""
SAMPLES = "\n".join(
    json.dumps(one)
    for one in (
        {"input": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2+2?"}], "ideal": "4"},
        {"input": "Capital of France?", "ideal": ["Paris", "paris."]},
        {
            "input": [
                {"role": "user", "content": "My name is Ann."},
                {"role": "assistant", "content": "Hi"},
                {"role": "user", "content": "Who am I?"},
            ],
            "ideal": "Ann",
        },
        {"input": [{"role": "system", "content": "The opposite of hot is"}], "ideal": "cold"},
    )
)
CONFIG = """
description: greetings
prompts:
  - 'Say {{greeting}} to {{person.name}}'
providers: [openai:gpt-4o]
defaultTest:
  assert:
    - {type: not-icontains, value: sorry}
tests:
  - description: greets
    vars: {greeting: [hello, hi], person: {name: Ann}}
    assert:
      - {type: icontains, value: '{{person.name}}'}
      - {type: contains-any, value: [hello, hi]}
      - {type: latency, threshold: 2000}
  - vars: {greeting: bye, person: {name: Bob}}
    assert:
      - {type: javascript, value: output.length < 5}
"""
TABLE = '__description,question,__expected\nsum,2+2?,4\nword,Say a word,"contains-any: yes, no"\n'


class Says(BaseLlm):
    """Says what it is told to, in this order."""

    answers: list[str]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        yield LlmResponse(content=Content(role="model", parts=[Part(text=self.answers.pop(0))]))


def read(name: str, text: str) -> list[EvalCase]:
    """The cases, read by the one source that knows the file."""
    (source,) = [one for one in SOURCES if one.reads(name, text)]
    return list(source.cases(name, text))


def outcomes(cases: list[EvalCase], *answers: str) -> list[str]:
    """What comes of the cases where an agent gives these answers; no other criteria count."""
    agent = LlmAgent(name="helper", model=Says(model="says", answers=list(answers)))
    eval_set = EvalSet(eval_set_id="s", eval_cases=cases)
    return [unit.outcome for unit in asyncio.run(evaluate(agent, eval_set, EvalConfig(), options=ONE)).units]


def test_29_datasets_of_pydantic_evals_are_cases() -> None:
    first, second, third = cases = read("capitals.yaml", DATASET)
    assert [one.eval_id for one in cases] == ["capital_of_France", "case_2", "capital_of_France_2"]
    assert first.conversation is not None
    assert answer_of(first.conversation[0]) == "Paris"
    assert first.source is not None
    assert first.source["metadata"] == {"difficulty": "easy"}
    assert (first.criteria["max_seconds"], second.criteria["regex"]) == (
        5.0,
        {"value": r"\A(?=[\s\S]*(?:(?i:madrid)))"},
    )
    rubrics = second.criteria.pop("rubric_based_final_response_quality_v1")
    assert rubrics["judge_model_options"]["judge_model"] == "openai:gpt-4o"
    assert rubrics["rubrics"][0]["rubric_content"] == {"text_property": "It is polite."}
    assert third.skip == "newel has no counterpart for the evaluator HasMatchingSpan"
    assert outcomes(cases, "Paris", "MADRID!") == ["passed", "passed", "skipped"]
    assert outcomes(cases[:2], "Lyon", "Rome") == ["failed", "failed"]
    assert read("capitals.json", json.dumps({"cases": [{"inputs": "x"}]}))[0].eval_id == "case_1"


def test_29_samples_of_openai_evals_are_cases() -> None:
    cases = read("samples.jsonl", SAMPLES)
    said = [[text_of(turn.user_content) for turn in case.conversation or ()] for case in cases]
    assert said == [["2+2?"], ["Capital of France?"], ["My name is Ann.", "Who am I?"], ["The opposite of hot is"]]
    assert cases[0].source == {"file": "samples.jsonl", "format": "openai-evals", "line": 1, "system": ["Be short."]}
    assert outcomes(cases, "4, of course", "paris.", "Hello", "Ann", "cold") == ["passed"] * 4
    assert outcomes(cases, "It is 4", "Lyon", "Ann", "Bob", "warm") == ["failed"] * 4


def test_29_tests_of_promptfoo_are_cases() -> None:
    cases = read("promptfooconfig.yaml", CONFIG)
    said = [text_of(case.conversation[0].user_content) for case in cases if case.conversation]
    assert said == ["Say hello to Ann", "Say hi to Ann", "Say bye to Bob"]
    assert cases[0].criteria["max_seconds"] == 2.0
    assert cases[2].skip == "newel has no counterpart for the assertion javascript"
    assert outcomes(cases, "hello ANN", "hi there, ann") == ["passed", "passed", "skipped"]
    assert outcomes(cases, "good day, Ann", "Sorry Ann, hi") == ["failed", "failed", "skipped"]
    table = read("tests.csv", TABLE)
    assert outcomes(table, "4", "well, no") == ["passed", "passed"]
    assert outcomes(table, "5", "perhaps") == ["failed", "failed"]
    lines = read("tests.jsonl", json.dumps({"vars": {"q": "hi"}, "assert": [{"type": "equals", "value": "ho"}]}))
    assert outcomes(lines, "ho") == ["passed"]


@pytest.mark.parametrize(
    ("kind", "value", "good", "bad"),
    [
        ("not-contains", "x", "abc", "a\nx"),
        ("not-equals", "yes", "yes!", "yes"),
        ("not-regex", r"\d+", "none", "one\n1"),
        ("starts-with", "Hi", " Hi Ann", "Oh, Hi"),
        ("not-starts-with", "Hi", "Oh, Hi", "Hi"),
        ("icontains-all", ["a", "B"], "b A", "a"),
        ("not-icontains-any", ["a", "B"], "c", "b"),
        ("is-json", {"required": ["k"]}, '{"k": 1}', "{}"),
        ("not-is-refusal", None, "Sure.", "I'm sorry, I cannot help with that."),
        ("rouge-n", "the cat sat", "the cat sat", "a dog ran"),
    ],
)
def test_assertions_hold_as_promptfoo_has_them(kind: str, value: Any, good: str, bad: str) -> None:
    text = json.dumps({"tests": [{"vars": {"q": "hi"}, "assert": [{"type": kind, "value": value}]}]})
    cases = read("t.json", text)
    assert (outcomes(cases, good), outcomes(cases, bad)) == (["passed"], ["failed"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "cases: [{inputs: x}, {}]", "a.yaml: cases.1 has no `inputs`"),
        ("a.yaml", "cases: [{inputs: x, evaluators: [3]}]", "an evaluator is a name"),
        ("a.jsonl", '{"input": "x"}\n{"input": ', "a.jsonl:2: not JSON"),
        ("a.jsonl", '{"input": 3}', "`input` is a text, or a list of messages"),
        ("a.yaml", "tests: [{vars: {a: 'file://b.txt'}}]", "is in the file file://b.txt; put its value here"),
        (
            "a.yaml",
            "prompts: ['file://p.txt']\ntests: [{vars: {a: b}}]",
            "is in a file of its own; put its text into `prompts`",
        ),
        ("a.yaml", "tests: [{assert: [contains]}]", "an assertion is an object with a `type`"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(name: str, text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        read(name, text)


@pytest.mark.parametrize("text", ["", "a: [", "[]", "3", '{"eval_set_id": "s", "eval_cases": []}'])
def test_other_files_are_left_to_others(text: str) -> None:
    for name in ("a.yaml", "a.json", "a.jsonl", "a.csv", "a.txt"):
        assert not [one.name for one in SOURCES if one.reads(name, text)]
