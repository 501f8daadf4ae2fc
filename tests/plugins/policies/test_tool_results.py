"""tool_results: whatever a tool returns can be stored, read back and sent, and is bounded."""

from __future__ import annotations

import json
import math
from collections import UserDict, namedtuple
from dataclasses import dataclass
from datetime import date
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from newel.policies.plain_data import MOST_DEPTH, MOST_VALUES, clean_text, plain
from newel.policies.tool_results import bounded
from newel_types import Part

MOST = 100_000


class Leaf(StrEnum):
    GREEN = "green"


class Size(IntEnum):
    LARGE = 3


class Mood(Enum):
    CALM = ("deep", 1)


class Tea(BaseModel):
    leaf: Leaf = Leaf.GREEN
    grown: date = date(2024, 5, 1)


@dataclass
class Cup:
    tea: Any
    size: Size = Size.LARGE


class Loud(str):
    """A text that shows as another."""

    def __str__(self) -> str:
        return "LOUD"


class Mute:
    """An object without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Broken(BaseModel):
    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("cannot")


Spot = namedtuple("Spot", "x y")


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = {"in": value}
    return value


def circular() -> Any:
    value: dict[str, Any] = {}
    value["self"] = [value, value]
    return value


def shared(levels: int) -> Any:
    """Small as an object, two to the power of `levels` values as data."""
    value: Any = []
    for _ in range(levels):
        value = [value, value]
    return value


PLAIN = {
    "model": (Tea(), {"leaf": "green", "grown": "2024-05-01"}),
    "dataclass": (Cup(Tea()), {"tea": {"leaf": "green", "grown": "2024-05-01"}, "size": 3}),
    "enums": ([Leaf.GREEN, Size.LARGE, Mood.CALM], ["green", 3, ["deep", 1]]),
    "enum keys": ({Leaf.GREEN: 1, Size.LARGE: 2}, {"green": 1, "3": 2}),
    "other keys": ({1: 1, None: 2, (1, "x"): 3, 1.5: 4}, {"1": 1, "None": 2, "(1, 'x')": 3, "1.5": 4}),
    "set": ({"b", "a"}, ["a", "b"]),
    "mixed set": ({1, "a"}, ["a", 1]),
    "tuple": (Spot(1, 2), [1, 2]),
    "mappings": ([UserDict(a=1), MappingProxyType({"b": 2})], [{"a": 1}, {"b": 2}]),
    "bytes": ([b"\x00\xff", bytearray(b"tea"), memoryview(b"tea")], ["AP8=", "dGVh", "dGVh"]),
    "floats": ([math.nan, math.inf, -math.inf, 0.5], ["nan", "inf", "-inf", 0.5]),
    "truth": ([True, False, None], [True, False, None]),
    "NUL": ("a\x00b", "a\ufffdb"),
    "surrogates": (["\ud800 x", "x\udfff"], ["\ufffd x", "x\ufffd"]),
    "halves of one character": ("\ud83c\udf75", "\U0001f375"),
    "hostile keys": ({"a\x00": 1, "\ud800": 2}, {"a\ufffd": 1, "\ufffd": 2}),
    "a text of its own kind": (Loud("soft"), "soft"),
    "huge numbers": ([10**5000, -(10**5000), 10**20], ["an integer of over 4000 digits"] * 2 + [10**20]),
    "huge number as key": ({10**5000: 1}, {"an integer of over 4000 digits": 1}),
    "exception": (ValueError("sour"), {"error": "ValueError: sour"}),
    "exception without text": (ValueError(10**5000), None),
    "other objects": ([PurePosixPath("/tea"), 1 + 2j], ["/tea", "(1+2j)"]),
    "no text": (Mute(), "<Mute, whose text cannot be had: RuntimeError>"),
    "a class": ([Tea, Cup], [str(Tea), str(Cup)]),
    "a type of ours": (Part(text="tea"), None),
}


@pytest.mark.parametrize("name", PLAIN)
def test_values_become_plain_data(ask: Any, call: Any, name: str) -> None:
    given, expected = PLAIN[name]

    async def get() -> Any:
        """Gets it."""
        return given

    result = ask([call("get")], tools=[get]).result
    if expected is not None:
        assert result == (expected if isinstance(expected, dict) else {"result": expected})
    made = plain(given)
    assert json.loads(json.dumps(made)) == made


def test_subclasses_leave_nothing_of_themselves() -> None:
    for value in (Leaf.GREEN, Loud("soft"), Loud("söft"), Size.LARGE):
        assert type(plain(value)) in (str, int)
    assert type(next(iter(plain({Leaf.GREEN: 1})))) is str


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (circular(), "or holds itself"),
        (deep(5000), f"nested deeper than {MOST_DEPTH} levels"),
        (shared(40), f"more than {MOST_VALUES} values"),
        ([0] * (MOST_VALUES + 1), f"more than {MOST_VALUES} values"),
        (Broken(), "cannot"),
    ],
    ids=["circular", "deep", "shared", "many", "broken"],
)
def test_a_value_that_cannot_be_used(ask: Any, call: Any, given: Any, problem: str) -> None:
    async def get() -> Any:
        """Gets it."""
        return given

    outcome = ask([call("get")], tools=[get], without=["tool_errors"])
    assert outcome.result["error"].startswith("the result of get cannot be used: ")
    assert problem in outcome.result["error"]
    assert outcome.said == "done"


@pytest.mark.parametrize(
    "given",
    [
        "z" * 10_000_000,
        "ü" * 300_000,
        '"\\\n\x01' * 100_000,
        {"text": "z" * 10_000_000, "n": 1},
        {"text": {"inner": {"text": "\n" * 1_000_000}}},
        {f"key{i}": "v" * 100 for i in range(5_000)},
        {"k" * 10_000_000: 1},
        {"rows": [["cell"] * 10 for _ in range(15_000)]},
        [{"name": "x" * 50}] * 20_000,
        [10**3999] * 100,
    ],
    ids=["text", "umlauts", "escapes", "dict", "nested", "many keys", "long key", "rows", "list", "digits"],
)
@pytest.mark.parametrize("most", [MOST, 1_000])
@pytest.mark.parametrize("above", [0, 131_072], ids=["cut", "kept"])
def test_a_result_is_bounded(ask: Any, call: Any, given: Any, most: int, above: int) -> None:
    async def get() -> Any:
        """Gets it."""
        return given

    settings = f"settings: {{tool_results: {{max_characters: {most}, artifact_above: {above}}}}}"
    outcome = ask([call("get")], tools=[get], settings=settings)
    assert len(json.dumps(outcome.result, ensure_ascii=False)) <= most + len('{"result": }')
    assert "more characters were left out" in str(outcome.result)
    assert ("artifact" in outcome.result) == (above > 0)
    assert outcome.said == "done"


def test_what_is_short_in_a_long_dict_stays() -> None:
    cut = bounded({"status": "ok", "codes": [1, 2], "body": "z" * 5_000}, 2_000)
    assert (cut["status"], cut["codes"]) == ("ok", [1, 2])
    assert cut["body"].startswith("zzz")


def test_a_result_within_the_bound_is_kept_whole() -> None:
    text = "z" * (MOST - 2)
    assert bounded(text, MOST) == text
    assert bounded({"a": [1, {"b": None}]}, 1_000) == {"a": [1, {"b": None}]}


def test_no_result_stays_none(ask: Any, call: Any) -> None:
    async def get() -> None:
        """Gets nothing."""

    assert ask([call("get")], tools=[get]).result == {"result": None}


@pytest.mark.parametrize("choice", [{"without": ["tool_results"]}, {"base": "adk"}], ids=["without", "adk"])
def test_without_the_policy_results_are_the_tools_own(ask: Any, call: Any, choice: Any) -> None:
    async def get() -> str:
        """Gets it."""
        return "z" * 300_000

    assert len(ask([call("get")], tools=[get], **choice).result["result"]) == 300_000


def test_clean_text_is_the_text_where_it_is_clean() -> None:
    for text in ("", "tea", "Grüße", "\U0001f375", "a\nb", "\ufeffmark"):
        assert clean_text(text) == text
