"""Samples of openai-evals: a JSON object a line, with `input` and `ideal`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from newel.evaluation import EvalCase, Invocation
from newel_importers.documents import Ids, case, lines_of, text_of, turn
from newel_importers.expectations import Expectations
from newel_kernel import ConfigurationError


def reads(name: str, text: str) -> bool:
    """Whether it is a file of samples."""
    if not name.lower().endswith(".jsonl"):
        return False
    try:
        first = json.loads(next((line for line in text.splitlines() if line.strip()), ""))
    except ValueError:
        return False
    return isinstance(first, dict) and "input" in first


def cases(name: str, text: str) -> Iterator[EvalCase]:
    """A case for each sample."""
    ids = Ids()
    for number, sample in lines_of(name, text):
        if "input" not in sample:
            raise ConfigurationError(f"{name}:{number}: the sample has no `input`")
        ideal = sample.get("ideal")
        ideals = [text_of(one) for one in (ideal if isinstance(ideal, list) else [ideal] if ideal is not None else [])]
        expectations = Expectations()
        if ideals:
            expectations.one_of(ideals, start=True)
        source: dict[str, Any] = {"file": name, "format": "openai-evals", "line": number}
        turns = _turns(sample["input"], ideals[0] if ideals else None, f"{name}:{number}", source)
        eval_case = case(ids.new(sample.get("id"), number), turns, expectations.criteria, [], source)
        if ideals and len(turns) > 1:  # the sample is about its last answer alone
            eval_case.turn_criteria = {len(turns) - 1: eval_case.criteria}
            eval_case.criteria = {"regex": {"value": ""}}
        yield eval_case


def _turns(prompt: Any, answer: str | None, where: str, source: dict[str, Any]) -> list[Invocation]:
    if isinstance(prompt, str):
        return [turn(prompt, answer)]
    if not isinstance(prompt, list) or not all(isinstance(one, dict) and "content" in one for one in prompt):
        raise ConfigurationError(f"{where}: `input` is a text, or a list of messages with `role` and `content`")
    messages = [text_of(one["content"]) for one in prompt if one.get("role") == "user"]
    system = [text_of(one["content"]) for one in prompt if one.get("role") == "system"]
    if system:
        source["system"] = system
    if not messages:  # a completion: the last message is the question
        messages = system[-1:]
    if not messages:
        raise ConfigurationError(f"{where}: `input` has no message of the user")
    return [*(turn(text) for text in messages[:-1]), turn(messages[-1], answer)]
