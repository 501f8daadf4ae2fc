"""Samples of openai-evals: a JSON object a line, with `input` and `ideal`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from newel.evaluation import EvalCase, Invocation
from newel_importers.documents import Ids, case, lines_of, text_of, turn
from newel_importers.wishes import Wishes
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
        wanted = [text_of(one) for one in (ideal if isinstance(ideal, list) else [ideal] if ideal is not None else [])]
        wishes = Wishes()
        if wanted:
            wishes.one_of(wanted, start=True)
        source: dict[str, Any] = {"file": name, "format": "openai-evals", "line": number}
        turns = _turns(sample["input"], wanted[0] if wanted else None, f"{name}:{number}", source)
        made = case(ids.new(sample.get("id"), number), turns, wishes.criteria, [], source)
        if wanted and len(turns) > 1:  # the sample is about its last answer alone
            made.turn_criteria = {len(turns) - 1: made.criteria}
            made.criteria = {"regex": {"value": ""}}
        yield made


def _turns(given: Any, answer: str | None, where: str, source: dict[str, Any]) -> list[Invocation]:
    if isinstance(given, str):
        return [turn(given, answer)]
    if not isinstance(given, list) or not all(isinstance(one, dict) and "content" in one for one in given):
        raise ConfigurationError(f"{where}: `input` is a text, or a list of messages with `role` and `content`")
    said = [text_of(one["content"]) for one in given if one.get("role") == "user"]
    system = [text_of(one["content"]) for one in given if one.get("role") == "system"]
    if system:
        source["system"] = system
    if not said:  # a completion: the last message is the question
        said = system[-1:]
    if not said:
        raise ConfigurationError(f"{where}: `input` has no message of the user")
    return [*(turn(text) for text in said[:-1]), turn(said[-1], answer)]
