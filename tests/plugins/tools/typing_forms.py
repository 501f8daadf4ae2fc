"""Typing forms for tests of signatures: an annotation, JSON that fits it, and the value that a function gets for it."""

from __future__ import annotations

import enum
import ipaddress
import pathlib
import re
import typing
import uuid
from collections import abc, deque
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, TypeVar, Union

from hypothesis import strategies as st
from pydantic import BaseModel, Field, JsonValue, SecretStr
from typing_extensions import TypeAliasType


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Item(BaseModel):
    """One thing."""

    name: str
    count: int = 1


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = dataclass_field(default_factory=list)


class Options(TypedDict, total=False):
    depth: int
    name: typing.Required[str]


class Chain(TypedDict):
    value: int
    rest: NotRequired[list[Chain]]


class Pair(NamedTuple):
    left: int
    right: str = "r"


UserId = typing.NewType("UserId", int)
T = TypeVar("T")
Numbers = TypeAliasType("Numbers", list[int])


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Form:
    """`text` is the annotation as it is written; `defaults` are values that people give it in Python."""

    text: str
    json: st.SearchStrategy[Any]
    value: Callable[[Any], Any] = same
    defaults: tuple[Any, ...] = ()


ints = st.integers(-(2**31), 2**31)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False, width=32)
jsons = st.recursive(
    st.none() | st.booleans() | ints | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
lists = st.lists(ints, max_size=3)
uniques = st.lists(ints, max_size=3, unique=True)
items = st.fixed_dictionaries({"name": texts}, optional={"count": ints})


def forms(*rows: tuple[Any, ...]) -> list[Form]:
    return [Form(*row) for row in rows]


FORMS = forms(
    ("", jsons, same, (1, None, [], "x")),
    ("Any", jsons, same, (None, 2.5, {"a": [1]})),
    ("object", jsons, same, (None, {1, 2})),
    ("typing.Any", jsons),
    ("JsonValue", jsons, same, ({"a": None},)),
    ("T", jsons, same, (None,)),
    ("None", st.none(), same, (None,)),
    ("str", texts, same, ("", "tea", None, "\ud800", Mode.FAST)),
    ("int", ints, same, (0, True, None, Level.LOW)),
    ("float", floats | ints, float, (1.5, 1, float("inf"), float("nan"), None)),
    ("bool", st.booleans(), same, (True, None)),
    ("'str'", texts, same, ("q",)),
    ("bytes", texts, str.encode, (b"x", b"\xff", None)),
    ("complex", st.just("1+2j"), complex, (1j,)),
    ("list", st.lists(jsons, max_size=2), same, ([], None, [object])),
    ("list[str]", st.lists(texts, max_size=3), same, ([], ["a"], (), None)),
    ("typing.List[int]", lists, same, ([], [1])),
    ("list['int']", lists, same, ([],)),
    ("list[list[int]]", st.lists(lists, max_size=2), same, ([[1]],)),
    ("list[Any]", st.lists(jsons, max_size=2), same, ([],)),
    ("dict", st.dictionaries(texts, jsons, max_size=2), same, ({},)),
    ("dict[str, int]", st.dictionaries(texts, ints, max_size=2), same, ({}, {"a": 1}, None)),
    ("typing.Dict[str, Any]", st.dictionaries(texts, jsons, max_size=2), same, ({},)),
    (
        "dict[int, str]",
        st.dictionaries(ints.map(str), texts, max_size=2),
        lambda v: {int(k): w for k, w in v.items()},
        ({1: "a"},),
    ),
    ("abc.Mapping[str, int]", st.dictionaries(texts, ints, max_size=2), same, ({},)),
    ("abc.Sequence[int]", lists, same, ((), [1])),
    ("typing.Sequence[str]", st.lists(texts, max_size=2), same, (("a",),)),
    ("abc.Iterable[int]", lists, same, ((),)),
    ("set[int]", uniques, set, (set(), {1}, frozenset())),
    ("frozenset[str]", st.lists(texts, max_size=2, unique=True), frozenset, (frozenset(),)),
    ("typing.Set[int]", uniques, set),
    ("tuple", st.lists(jsons, max_size=2), tuple, ((),)),
    ("tuple[int, str]", st.tuples(ints, texts).map(list), tuple, ((1, "a"), None)),
    ("tuple[int, ...]", lists, tuple, ((), (1, 2))),
    ("deque[int]", lists, deque, (deque(),)),
    ("Optional[int]", st.none() | ints, same, (None, 3)),
    ("int | None", st.none() | ints, same, (None, 3)),
    ("Union[int, str]", ints | texts, same, (3, "x", None)),
    ("int | str | list[str] | None", st.none() | ints | texts | st.lists(texts, max_size=2), same, (None, [])),
    ("Optional[list[str]]", st.none() | st.lists(texts, max_size=2), same, (None, [])),
    ("Union[int, Callable[..., int]]", ints, same, (3, len)),
    ("Literal['a', 'b']", st.sampled_from(["a", "b"]), same, ("a", None)),
    ("Literal[1, 'x', None]", st.sampled_from([1, "x", None]), same, (1, None)),
    ("Literal[Mode.FAST]", st.just("fast"), Mode, (Mode.FAST,)),
    ("Annotated[int, Field(ge=-2**31, description='a described number')]", ints, same, (1,)),
    ("Annotated[str, 'a note']", texts, same, ("",)),
    ("Annotated[float, Field(le=float('inf'))]", floats, float, (0.5,)),
    ("Optional[Annotated[int, Field(description='deep')]]", st.none() | ints, same, (None,)),
    ("Colour", st.sampled_from(["red", "blue"]), Colour, (Colour.RED, None)),
    ("list[Colour]", st.lists(st.sampled_from(["red"]), max_size=2), lambda v: [Colour(c) for c in v], ([Colour.RED],)),
    ("Level", st.sampled_from([1, 2]), Level, (Level.LOW,)),
    ("Mode", st.sampled_from(["fast", "slow"]), Mode, (Mode.FAST,)),
    ("Item", items, Item.model_validate, (None, Item(name="a"))),
    ("Optional[Item]", st.none() | items, lambda v: v and Item.model_validate(v), (None, Item(name="a"))),
    ("list[Item]", st.lists(items, max_size=2), lambda v: [Item.model_validate(i) for i in v], ([], [Item(name="a")])),
    (
        "dict[str, Item]",
        st.dictionaries(texts, items, max_size=2),
        lambda v: {k: Item.model_validate(i) for k, i in v.items()},
        ({},),
    ),
    ("Tree", st.just({"value": 1, "children": [{"value": 2}]}), Tree.model_validate, (None,)),
    ("Point", st.fixed_dictionaries({"x": ints}), lambda v: Point(**v), (Point(1), None)),
    ("Options", st.fixed_dictionaries({"name": texts}, optional={"depth": ints}), same, ({"name": "a"}, None)),
    ("list[Options]", st.lists(st.fixed_dictionaries({"name": texts}), max_size=2), same, ([],)),
    ("Chain", st.just({"value": 1, "rest": [{"value": 2}]}), same, (None,)),
    ("Pair", st.tuples(ints, texts).map(list), lambda v: Pair(*v), (Pair(1),)),
    ("UserId", ints, same, (UserId(1),)),
    ("Numbers", lists, same, ([],)),
    ("datetime", st.datetimes().map(datetime.isoformat), datetime.fromisoformat, (datetime(2024, 1, 1), None)),
    ("date", st.dates().map(date.isoformat), date.fromisoformat, (date(2024, 1, 1),)),
    ("time", st.times().map(time.isoformat), time.fromisoformat),
    (
        "timedelta",
        st.integers(0, 999).map("PT{}S".format),
        lambda v: timedelta(seconds=int(v[2:-1])),
        (timedelta(hours=1),),
    ),
    ("uuid.UUID", st.uuids().map(str), uuid.UUID, (uuid.UUID(int=0),)),
    ("Decimal", ints, Decimal, (Decimal("1.5"), Decimal("NaN"))),
    ("pathlib.Path", st.just("a/b"), pathlib.Path, (pathlib.Path(),)),
    ("ipaddress.IPv4Address", st.just("10.0.0.1"), ipaddress.IPv4Address),
    ("re.Pattern", st.just("a+"), re.compile, (re.compile("b"),)),
    ("SecretStr", texts, SecretStr, (SecretStr("s3cret"),)),
)

#: What the annotations name.
NAMES: dict[str, Any] = {
    "Annotated": Annotated,
    "Any": Any,
    "Callable": Callable,
    "Chain": Chain,
    "Colour": Colour,
    "Decimal": Decimal,
    "Field": Field,
    "Item": Item,
    "JsonValue": JsonValue,
    "Level": Level,
    "Literal": Literal,
    "Mode": Mode,
    "Numbers": Numbers,
    "Optional": Optional,
    "Options": Options,
    "Pair": Pair,
    "Point": Point,
    "SecretStr": SecretStr,
    "T": T,
    "Tree": Tree,
    "Union": Union,
    "UserId": UserId,
    "abc": abc,
    "date": date,
    "datetime": datetime,
    "deque": deque,
    "ipaddress": ipaddress,
    "pathlib": pathlib,
    "re": re,
    "time": time,
    "timedelta": timedelta,
    "typing": typing,
    "uuid": uuid,
}
