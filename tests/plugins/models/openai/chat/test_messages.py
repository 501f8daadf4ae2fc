"""Histories as messages of Chat Completions, through the real SDK, judged by a strict server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.openai import OpenAILlm, Profile
from newel.models.openai.chat.messages import Messages
from newel.models.openai.profiles import OPENAI
from newel.models.wire.names import Names
from newel.models.wire.signatures import signed
from newel_kernel import Json
from newel_testkit.wire.caller import Caller, call, model, result, tools, user
from newel_testkit.wire.http import Logged
from newel_testkit.wire.openai_messages import check
from newel_types import Blob, Content, FileData, FunctionResponsePart, MediaResolution, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
PDF = b"%PDF-1.4\n%%EOF"


def blob(mime: str, data: bytes, name: str | None = None) -> Part:
    return Part(inline_data=Blob(mime_type=mime, data=data, display_name=name))


def file(uri: str, mime: str | None = None) -> Part:
    return Part(file_data=FileData(file_uri=uri, mime_type=mime))


def roles(body: Json) -> list[str]:
    return [message["role"] for message in body["messages"]]


def test_tool_messages_directly_follow_their_calls(chat: Caller) -> None:
    asked = model(call("a", {}, "1"), call("b", {}, "2"))
    first, second = result("b", {"r": "TWO"}, "2"), result("a", {"r": "ONE"}, "1")
    later = [user("before", first), user("between"), user(second, "after")]
    body = chat.sent(user("Hi"), asked, *later, tools=tools("a", "b"))
    assert roles(body) == ["user", "assistant", "tool", "tool", "user", "user", "user"]
    assert [m["tool_call_id"] for m in body["messages"][2:4]] == ["2", "1"]
    assert [m["content"] for m in body["messages"][4:]] == ["before", "between", "after"]


def test_calls_without_a_result_get_an_error(chat: Caller) -> None:
    asked = model(call("a", {}, "1"), call("a", {}, "2"))
    body = chat.sent(user("Hi"), asked, user(result("a", {"r": 1}, "1")), user("And?"), tools=tools("a"))
    assert roles(body) == ["user", "assistant", "tool", "tool", "user"]
    assert "interrupted" in json.loads(body["messages"][3]["content"])["error"]
    assert roles(chat.sent(user("Hi"), model(call("a", {}, "1")), tools=tools("a")))[-1] == "tool"


def test_a_result_without_a_call_is_told_as_text(chat: Caller) -> None:
    body = chat.sent(user("Hi"), model("Yes?"), user(result("a", {"r": "LATE"}, "1")))
    assert "LATE" in body["messages"][-1]["content"]


def test_every_key_of_a_result_arrives(chat: Caller) -> None:
    given_result = {"content": "a", "status": None, "n": 0, "nested": [{"x": False}], "text": "Grüße 🦊"}
    body = chat.sent(user("Hi"), model(call("a", {}, "1")), user(result("a", given_result, "1")), tools=tools("a"))
    assert json.loads(body["messages"][-1]["content"]) == given_result


def test_media_of_results_move_to_a_user_message(chat: Caller) -> None:
    image = FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")
    asked = model(call("a", {}, "1"), call("b", {}, "2"))
    results = user(result("a", {"ok": 1}, "1", [image]), result("b", {"ok": 2}, "2"))
    body = chat.sent(user("Hi"), asked, results, tools=tools("a", "b"))
    assert roles(body) == ["user", "assistant", "tool", "tool", "user"]
    label, shown = body["messages"][-1]["content"]
    assert label["text"] == "Files in the result of a (call 1):"
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")


def test_ids_at_most_40_letters(chat: Caller) -> None:
    long = "x" * 70
    history = [user("Hi"), model(call("a", {}, long), call("a", {}, long[:-1] + "y"))]
    results = user(result("a", {"r": "ONE"}, long), result("a", {"r": "TWO"}, long[:-1] + "y"))
    body = chat.sent(*history, results, model(call("a", {}, long)), user(result("a", {"r": 3}, long)), tools=tools("a"))
    first, second = (one["id"] for one in body["messages"][1]["tool_calls"])
    assert [m["tool_call_id"] for m in body["messages"][2:4]] == [first, second]
    assert "ONE" in body["messages"][2]["content"]
    third = body["messages"][4]["tool_calls"][0]["id"]
    assert len({first, second, third}) == 3
    assert max(map(len, (first, second, third))) <= 40


def test_calls_without_ids_are_paired_in_order(chat: Caller) -> None:
    asked = model(call("a", {"n": 1}), call("a", {"n": 2}))
    body = chat.sent(user("Hi"), asked, user(result("a", {"r": 1}), result("a", {"r": 2})), tools=tools("a"))
    ids = [one["id"] for one in body["messages"][1]["tool_calls"]]
    assert [m["tool_call_id"] for m in body["messages"][2:]] == ids
    assert len(set(ids)) == 2


def test_names_match_the_pattern(chat: Caller) -> None:
    name = "files.read:now"
    history = [user("Hi"), model(call(name, {}, "1")), user(result(name, {"r": 1}, "1"))]
    body = chat.sent(*history, tools=tools(name))
    sent = body["tools"][0]["function"]["name"]
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == sent != name


def test_assistant_content_null_only_with_calls(chat: Caller) -> None:
    thought = Part(text="Hm.", thought=True)
    body = chat.sent(user("Hi"), model(thought), user("And?"), model("So", call("a", {}, "1")), tools=tools("a"))
    assert roles(body) == ["user", "user", "assistant", "tool"]
    assert body["messages"][2]["content"] == "So"
    assert "tool_calls" not in chat.sent(user("Hi"), model("Yes."), user("?"))["messages"][1]


def test_blank_text_is_left_out(chat: Caller) -> None:
    body = chat.sent(user("Hi", " \n"), model("  "), user(""), model("", "Yes."), user("?"))
    assert roles(body) == ["user", "assistant", "user"]
    assert [m["content"] for m in body["messages"]] == ["Hi", "Yes.", "?"]


def test_system_is_one_leading_message(chat: Caller) -> None:
    content = Content(parts=[Part(text="A"), Part(text="B")])
    for instruction in ("A\n\nB", content, [Part(text="A"), Part(text=" "), "B"]):
        body = chat.sent(user("Hi"), system_instruction=instruction)
        assert body["messages"][0] == {"role": "system", "content": "A\n\nB"}
        assert roles(body) == ["system", "user"]
    assert roles(chat.sent(user("Hi"), system_instruction=" ")) == ["user"]


def test_files_images_audio(chat: Caller) -> None:
    parts = [
        blob("image/jpg", PNG),
        file("https://x.example/fox.png"),
        blob("application/pdf", PDF, "a.pdf"),
        blob("application/pdf", PDF),
        blob("audio/mpeg", b"mp3"),
        blob("audio/x-wav", b"wav"),
        blob("text/csv; charset=utf-8", b"a,b", "t.csv"),
        blob("application/json", b"{}"),
        file("file-123"),
    ]
    sent = chat.sent(user("See", *parts))["messages"][0]["content"]
    assert [part["type"] for part in sent] == [
        "text",
        "image_url",
        "image_url",
        "file",
        "file",
        "input_audio",
        "input_audio",
        "text",
        "text",
        "file",
    ]
    assert sent[1]["image_url"]["url"].startswith("data:image/jpeg;")
    assert [part["file"]["filename"] for part in sent[3:5]] == ["a.pdf", "document.pdf"]
    assert [part["input_audio"]["format"] for part in sent[5:7]] == ["mp3", "wav"]
    assert sent[7]["text"] == "t.csv:\na,b"
    assert sent[9]["file"] == {"file_id": "file-123"}


@pytest.mark.parametrize(
    "part",
    [
        blob("video/mp4", b"v"),
        blob("image/tiff", b"t"),
        blob("audio/ogg", b"o"),
        file("gs://b/x.png"),
        file("https://x.example/a.pdf"),
        blob("text/plain", b"\xff\xfe"),
        blob("application/zip", b"z"),
    ],
)
def test_what_cannot_be_sent_is_left_out_and_said(part: Part, chat: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = chat.sent(user("See", part))
    assert "left out" in body["messages"][0]["content"][1]["text"]
    assert any("cannot be sent" in record.getMessage() for record in caplog.records)
    chat.sent(user(part))  # nothing else is in the message


def test_details_of_images_follow_the_media_resolution(chat: Caller) -> None:
    low = MediaResolution.MEDIA_RESOLUTION_LOW
    body = chat.sent(user(blob("image/png", PNG)), media_resolution=low)
    assert body["messages"][0]["content"][0]["image_url"]["detail"] == "low"


def test_media_and_code_of_other_models(chat: Caller, caplog: pytest.LogCaptureFixture) -> None:
    code = Part.from_executable_code(code="1+1", language="PYTHON")  # type: ignore[arg-type]
    output = Part.from_code_execution_result(outcome="OUTCOME_OK", output="2")  # type: ignore[arg-type]
    body = chat.sent(user("Hi"), model(code, output, blob("image/png", PNG)), user("?"))
    assert [part["text"] for part in body["messages"][1]["content"]] == ["```python\n1+1\n```", "Output:\n```\n2\n```"]
    assert any("cannot be sent back" in record.getMessage() for record in caplog.records)


def test_foreign_thoughts_stay_home(chat: Caller) -> None:
    foreign = Part(text="Hm.", thought=True, thought_signature=b"\xff\x00")
    asked = Part(function_call=call("a", {}, "1").function_call, thought_signature=b"\xff")
    body = chat.sent(user("Hi"), model(foreign, asked), user(result("a", {}, "1")), tools=tools("a"))
    assert "Hm." not in json.dumps(body)


def test_reasoning_goes_back_where_the_endpoint_wants_it(chat: Caller) -> None:
    own = signed(Part(text="Hm.", thought=True), "lab", None, reasoning_details=[{"type": "x"}])
    foreign = signed(Part(text="No.", thought=True), "other", None)
    profile = Profile(base_url=chat.server.base["openai"], reasoning_back="reasoning_content")
    lab = OpenAILlm(model="m", endpoint="lab", profile=profile)
    body = chat.sent(user("Hi"), model(own, foreign, "Yes."), user("?"), llm=lab)
    assert body["messages"][1]["reasoning_content"] == "Hm."
    assert body["messages"][1]["reasoning_details"] == [{"type": "x"}]


def test_gemini_signatures_over_the_compatible_endpoint(chat: Caller) -> None:
    extra = {"google": {"thought_signature": "s"}}
    asked = signed(call("a", {}, "1"), "openai", None, extra_content=extra)
    body = chat.sent(user("Hi"), model(asked), user(result("a", {}, "1")), tools=tools("a"))
    assert body["messages"][1]["tool_calls"][0]["extra_content"] == extra


_IDS = st.sampled_from([None, "1", "2", "functions.a:0/é", "x" * 70])
_PARTS = st.one_of(
    st.sampled_from(["", " ", "Hi"]).map(lambda text: Part(text=text)),
    st.builds(lambda call_id: call("a", {}, call_id), _IDS),
    st.builds(lambda call_id: result("a", {"r": 1}, call_id), _IDS),
    st.just(blob("image/png", PNG)),
    st.just(blob("video/mp4", b"v")),
)
_CONTENTS = st.builds(
    lambda role, parts: Content(role=role, parts=parts),
    st.sampled_from(["user", "model"]),
    st.lists(_PARTS, max_size=4),
)


def _converted(contents: list[Content], cut: int | None = None) -> list[Json]:
    said: list[Any] = []
    messages = Messages("openai", OPENAI, frozenset({"image"}), Names(), lambda *one: said.append(one))
    for index, content in enumerate(contents):
        if index == cut:
            messages.copy().whole()  # a request that was sent meanwhile
        messages.add(content)
    return messages.whole()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(contents=st.lists(_CONTENTS, max_size=8), cut=st.integers(0, 8))
def test_any_history_is_accepted(contents: list[Content], cut: int) -> None:
    messages = _converted(contents)
    body = {"model": "gpt-4o", "messages": messages or [{"role": "user", "content": "x"}]}
    check(Logged("POST", "", "", {"authorization": "Bearer x"}, body, 1, 0.0), further=False)
    assert _converted(contents, cut) == messages
