"""Hot types: the doors, unknown fields at every depth, frozen objects, use inside pydantic models."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from newel_types import (
    Blob,
    Content,
    FrozenError,
    FunctionCall,
    FunctionResponse,
    FunctionResponsePart,
    GenerateContentResponse,
    ModelContent,
    Part,
    UserContent,
    VideoMetadata,
    freeze,
    thaw,
)

WEATHER: dict[str, Any] = {
    "role": "model",
    "parts": [
        {"text": "hm", "thought": True, "thoughtSignature": "AP8="},
        {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Köln"}}},
        {"functionResponse": {"id": "c1", "name": "weather", "response": {"sky": ["grey", {"rain": None}]}}},
        {"inlineData": {"data": "AP8=", "mimeType": "image/png"}},
    ],
}
UNKNOWN: dict[str, Any] = {
    "x": 1,
    "parts": [
        {"text": "a", "x": {"y": 2}},
        {"functionCall": {"name": "f", "args": {}, "x": 3, "partialArgs": [{"jsonPath": "$", "x": 4}]}},
        {"functionResponse": {"name": "f", "x": 5, "parts": [{"x": 6, "inlineData": {"data": "AP8=", "x": 7}}]}},
        {"inlineData": {"data": "AP8=", "x": 8}, "toolCall": {"id": "t", "args": {"deep": [1]}}},
        {"executableCode": {"language": "COBOL", "x": 9}},
    ],
}


class Holder(BaseModel):
    content: Content
    history: list[Content] = []


def wire(obj: Any) -> Any:
    return json.loads(obj.model_dump_json(by_alias=True, exclude_none=True))


def weather() -> Content:
    return Content.model_validate(WEATHER)


# --- doors ----------------------------------------------------------------------------------------


def test_json_and_dict_give_the_same_object() -> None:
    assert Content.model_validate_json(json.dumps(WEATHER)) == weather()
    assert wire(weather()) == WEATHER


def test_snake_case_is_read_as_well() -> None:
    assert Content.model_validate(weather().model_dump(exclude_none=True)) == weather()


def test_an_instance_passes_a_door_as_it_is() -> None:
    content = weather()
    assert Content.model_validate(content) is content
    assert Holder(content=content).content is content


def test_a_door_refuses_wrong_types() -> None:
    with pytest.raises(ValidationError, match=r"parts\.0\.text"):
        Content.model_validate({"parts": [{"text": 5}]})
    with pytest.raises(ValidationError, match=r"content\.parts\.0\.text"):
        Holder.model_validate({"content": {"parts": [{"text": 5}]}})


def test_user_and_model_content() -> None:
    assert UserContent("hi") == Content(role="user", parts=[Part(text="hi")])
    assert ModelContent([Part(text="a"), "b"]).parts == [Part(text="a"), Part(text="b")]


def test_part_factories() -> None:
    assert Part.from_text("x") == Part.from_text(text="x") == Part(text="x")
    assert Part.from_bytes(data=b"\x00", mime_type="a/b").inline_data == Blob(data=b"\x00", mime_type="a/b")
    assert Part.from_uri(file_uri="gs://b/x.png").file_data.mime_type == "image/png"
    assert Part.from_function_call(name="f", args={"a": 1}).function_call == FunctionCall(name="f", args={"a": 1})
    media = FunctionResponsePart.from_bytes(data=b"\xff", mime_type="a/b")
    answer = Part.from_function_response(name="f", response={}, parts=[media])
    assert wire(answer)["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "a/b", "data": "_w=="}}]
    assert FunctionResponsePart.from_uri(file_uri="gs://b/x.png").file_data.mime_type == "image/png"


def test_a_blob_is_checked_where_it_is_made() -> None:
    assert Blob(data=bytearray(b"ab"), mime_type="a/b") == Blob(data=b"ab", mime_type="a/b")
    assert Blob(data="YWI=").data == b"ab"
    assert Blob(data=b"ab", display_name="x").display_name == "x"
    assert wire(Blob(data=b"ab", mimeType="a/b", later=1)) == {"data": "YWI=", "mimeType": "a/b", "later": 1}
    for wrong in ({"data": 5}, {"data": b"", "mime_type": 5}, {"data": b"", "mime_type": "a/b", "display_name": 5}):
        with pytest.raises(ValidationError, match=next(name for name, value in wrong.items() if value == 5)):
            Blob(**wrong)
    part = Part(inline_data=Blob(data=b"ab", mime_type="video/mp4"), video_metadata={"fps": 2})
    assert part.video_metadata == VideoMetadata(fps=2)


# --- foreign objects ------------------------------------------------------------------------------


def test_foreign_objects_are_accepted() -> None:
    genai = pytest.importorskip("google.genai").types
    theirs = genai.Content.model_validate(WEATHER)
    call = genai.FunctionCall(name="f", args={"a": 1})
    assert Content.model_validate(theirs) == weather()
    assert Holder.model_validate({"content": theirs, "history": [theirs]}).history == [weather()]
    assert Content(role="model", parts=theirs.parts) == weather()
    assert Part(function_call=call).function_call == FunctionCall(name="f", args={"a": 1})
    assert Part(inline_data=genai.Blob(data=b"x")).inline_data == Blob(data=b"x")
    assert UserContent(genai.Part(text="hi")) == UserContent("hi")


# --- unknown fields -------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [Content.model_validate, lambda data: Content.model_validate_json(json.dumps(data))])
def test_unknown_fields_survive_at_every_depth(read: Any) -> None:
    content = read(UNKNOWN)
    assert wire(content) == UNKNOWN
    assert content.model_dump(by_alias=True, exclude_none=True, mode="json") == UNKNOWN
    for twin in (content.model_copy(), content.model_copy(deep=True), copy.deepcopy(content), freeze(read(UNKNOWN))):
        assert wire(twin) == UNKNOWN


def test_unknown_fields_survive_inside_pydantic_models() -> None:
    data = {"content": UNKNOWN, "history": [UNKNOWN, WEATHER]}
    assert wire(Holder.model_validate(data)) == data
    assert wire(Holder.model_validate_json(json.dumps(data))) == data
    answer = {"candidates": [{"content": UNKNOWN, "y": 1}], "usageMetadata": {"totalTokenCount": 3, "z": {}}, "w": 0}
    assert wire(GenerateContentResponse.model_validate(answer)) == answer


def test_a_deep_copy_does_not_share_unknown_fields() -> None:
    content = Content.model_validate({"x": {"y": [1]}})
    content.model_copy(deep=True)._extra["x"]["y"].append(2)
    assert wire(content) == {"x": {"y": [1]}}


def test_unknown_fields_survive_pickling_into_a_fresh_process() -> None:
    code = "import pickle,sys; print(pickle.load(sys.stdin.buffer).model_dump_json(by_alias=True, exclude_none=True))"
    pickled = pickle.dumps(Content.model_validate(UNKNOWN))
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    assert json.loads(done.stdout) == UNKNOWN


def test_an_unknown_field_does_not_hide_an_error() -> None:
    with pytest.raises(ValidationError, match="text"):
        Content.model_validate({"x": 1, "parts": [{"text": 5}]})


# --- frozen objects -------------------------------------------------------------------------------


def frozen() -> Content:
    return freeze(weather())


def pieces(content: Content) -> list[Any]:
    parts = content.parts or []
    return [content, *parts, parts[1].function_call, parts[2].function_response]


def test_a_frozen_object_refuses_every_attribute() -> None:
    for piece in pieces(frozen()):
        for field in dataclasses.fields(piece):
            with pytest.raises(FrozenError, match=field.name):
                setattr(piece, field.name, None)
            with pytest.raises(FrozenError, match=field.name):
                delattr(piece, field.name)


def test_a_frozen_object_is_one_of_its_class() -> None:
    kinds: list[Any] = [Content, Part, Part, Part, Part, FunctionCall, FunctionResponse]
    for piece, kind in zip(pieces(frozen()), kinds, strict=True):
        assert isinstance(piece, kind)
        assert kind.model_validate(piece) is piece
    assert frozen() == weather()
    assert weather() == frozen()
    assert frozen() != Content(role="user")
    assert wire(frozen()) == WEATHER
    assert repr(frozen()) == repr(weather())


@pytest.mark.parametrize(
    "make",
    [
        copy.copy,
        copy.deepcopy,
        thaw,
        dataclasses.replace,
        lambda content: content.model_copy(),
        lambda content: content.model_copy(deep=True),
        lambda content: pickle.loads(pickle.dumps(content)),
    ],
)
def test_copies_of_a_frozen_object_are_ordinary(make: Any) -> None:
    original = frozen()
    twin = make(original)
    assert twin == original
    assert type(twin) is Content
    twin.role = "user"
    assert original.role == "model"


def test_a_deep_copy_is_ordinary_all_the_way_down() -> None:
    original = frozen()
    twin = original.model_copy(deep=True)
    twin.parts[1].function_call.args["city"] = "Bonn"
    twin.parts[2].function_response.response["sky"][1]["rain"] = True
    twin.parts[0].text = "changed"
    assert wire(original) == WEATHER


def test_replace_and_update() -> None:
    original = frozen()
    assert dataclasses.replace(original, role="user").role == "user"
    assert original.model_copy(update={"role": "user"}).role == "user"
    assert original.role == "model"


def test_frozen_objects_are_accepted_in_models() -> None:
    original = frozen()
    holder = Holder(content=original, history=[original])
    assert holder.content is original
    assert wire(holder) == {"content": WEATHER, "history": [WEATHER]}
    assert Part(function_call=original.parts[1].function_call).function_call is original.parts[1].function_call


def test_a_hot_object_has_no_hash() -> None:
    with pytest.raises(TypeError):
        hash(weather())
