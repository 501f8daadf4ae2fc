"""Our wire types against google-genai's: the same fields, the same enum values, the same JSON both ways."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from itertools import count
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from newel import types
from newel_types import Record, ResponseModel, WireEnum, WireModel

genai = pytest.importorskip("google.genai").types

#: Fields that our Part leaves to its unknown fields.
PART_LEFT_OUT = {
    "audio_metadata",
    "audio_transcription",
    "document_metadata",
    "media_processing",
    "speech_metadata",
    "spreadsheet_metadata",
    "tool_call",
    "tool_response",
}
DEPTH = 5
UNIONS = (Union, UnionType)
NOT_JSON = ("Client", "AsyncClient", "GenericAlias", "UnionType", "_UnionGenericAlias", "BaseModel", "Enum", "type")


def pairs(base: type[Any]) -> list[Any]:
    classes = {name: getattr(types, name) for name in types.__all__}
    return [
        pytest.param(ours, getattr(genai, name), id=name)
        for name, ours in classes.items()
        if isinstance(ours, type) and issubclass(ours, base) and hasattr(genai, name)
    ]


ENUMS = pairs(WireEnum)
MODELS = pairs(WireModel) + [
    pytest.param(getattr(types, name), getattr(genai, name), id=name)
    for name in ("Content", "Part", "FunctionCall", "FunctionResponse")
]
#: So many samples of a model have each member of every union. They are no tests of their own, for they are thousands.
VARIANTS = 4


class Sampler:
    """Fills every field of a google-genai class, recursively; `variant` picks among a union's members."""

    def __init__(self, variant: int, *, unknown: bool) -> None:
        self.variant = variant
        self.unknown = unknown
        self.number = count(1)

    def model(self, cls: Any, depth: int = 0) -> Any:
        values = {}
        for name, field in cls.model_fields.items():
            if cls is genai.Part and name in PART_LEFT_OUT and not self.unknown:
                continue
            if name == "parsed":  # google-genai makes an empty model of any dict
                continue
            value = self.value(field.annotation, depth + 1)
            if value is not None:
                values[name] = value
        return cls(**values)

    def value(self, kind: Any, depth: int) -> Any:
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.value(args[0], depth)
        if origin in UNIONS:
            members = [a for a in args if getattr(a, "__name__", "") not in NOT_JSON and a is not NoneType]
            return self.value(members[self.variant % len(members)], depth) if members else None
        if origin is Literal:
            return args[0]
        if origin is list:
            item = self.value(args[0], depth)
            return [] if item is None else [item]
        if origin is dict:
            item = self.value(args[1], depth)
            return {} if item is None else {"someKey": item, "snake_key": item}
        return self.scalar(kind, depth)

    def scalar(self, kind: Any, depth: int) -> Any:
        n = next(self.number)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.model(kind, depth) if depth < DEPTH else None
        if isinstance(kind, type) and issubclass(kind, Enum):
            members = list(kind)
            return members[n % len(members)]
        plain: dict[Any, Any] = {
            str: f"text ä {n}",
            int: n,
            float: n + 0.25,
            bool: n % 2 == 0,
            bytes: b"\x00\xff" + bytes([n % 256]),
            datetime: datetime(2026, 1, 2, 3, 4, 5, n, tzinfo=UTC),
            Any: {"anyKey": [n, None, "x"]},
            list: [],
            NoneType: None,
        }
        if isinstance(kind, type) and kind not in plain:
            return None  # a class of an optional library (an HTTP session, say), for which JSON has no form
        return plain[kind]


@cache
def samples(cls: Any, *, unknown: bool = True) -> list[Any]:
    """One of each variant that differs from those before it: most models have no union."""
    found: list[Any] = []
    for variant in range(VARIANTS):
        sample = Sampler(variant, unknown=unknown).model(cls)
        if sample not in found:
            found.append(sample)
    return found


def wire(obj: Any) -> Any:
    return json.loads(obj.model_dump_json(by_alias=True, exclude_none=True))


def fields(cls: Any) -> list[str]:
    return list(cls.__dataclass_fields__ if issubclass(cls, Record) else cls.model_fields)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_fields_are_the_same(ours: Any, theirs: Any) -> None:
    left_out = PART_LEFT_OUT if theirs is genai.Part else set()
    assert fields(ours) == [name for name in theirs.model_fields if name not in left_out]


@pytest.mark.parametrize(("ours", "theirs"), ENUMS)
def test_enum_members_are_the_same(ours: Any, theirs: Any) -> None:
    members = {member.name: member.value for member in ours}
    assert members == {member.name: member.value for member in theirs}
    for member in theirs:
        assert ours(member) is ours(member.value) is ours(member.value.swapcase()) is ours[member.name]


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_their_json_comes_back_unchanged(ours: Any, theirs: Any) -> None:
    for sample in samples(theirs):
        text = sample.model_dump_json(by_alias=True, exclude_none=True)
        assert wire(ours.model_validate_json(text)) == json.loads(text)
        assert wire(ours.model_validate(json.loads(text))) == json.loads(text)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_our_json_is_read_by_them(ours: Any, theirs: Any) -> None:
    for sample in samples(theirs):
        mine = ours.model_validate(sample)
        text = mine.model_dump_json(by_alias=True, exclude_none=True)
        assert wire(theirs.model_validate_json(text)) == wire(mine) == wire(sample)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_their_objects_are_accepted(ours: Any, theirs: Any) -> None:
    for sample in samples(theirs):
        assert wire(ours.model_validate(sample)) == wire(sample)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_python_dumps_are_the_same(ours: Any, theirs: Any) -> None:
    for sample in samples(theirs, unknown=False):
        mine = ours.model_validate(sample)
        assert mine.model_dump(exclude_none=True) == sample.model_dump(exclude_none=True)
        snake = sample.model_dump_json(exclude_none=True)
        assert json.loads(mine.model_dump_json(exclude_none=True)) == json.loads(snake)
        assert json.loads(ours.model_validate_json(snake).model_dump_json(exclude_none=True)) == json.loads(snake)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_defaults_are_the_same(ours: Any, theirs: Any) -> None:
    assert ours().model_dump(exclude_none=True) == theirs().model_dump(exclude_none=True)


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_json_schema_can_be_made(ours: Any, theirs: Any) -> None:
    schema = ours.model_json_schema()
    properties = schema.get("properties") or schema.get("$defs", {}).get(ours.__name__, {}).get("properties", {})
    assert len(properties) == len(fields(ours))


@pytest.mark.parametrize(("ours", "theirs"), MODELS)
def test_unknown_fields_of_responses_are_kept_and_of_requests_refused(ours: Any, theirs: Any) -> None:
    data = {"madeUpField": {"x": [1]}}
    if issubclass(ours, (ResponseModel, Record)):
        assert wire(ours.model_validate(data)) == data
        assert wire(ours.model_validate_json(json.dumps(data))) == data
    else:
        with pytest.raises(ValueError, match="madeUpField"):
            ours.model_validate(data)
