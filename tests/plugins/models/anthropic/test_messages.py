"""Histories as Anthropic's messages, through the real SDK, judged by a strict server."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.anthropic.blocks import Media
from newel.models.anthropic.messages import Messages
from newel_testkit.wire.anthropic import signature
from newel_testkit.wire.anthropic_messages import check_messages
from newel_testkit.wire.caller import Caller, call, model, result, tools, user
from newel_types import Blob, Content, FileData, FunctionResponsePart, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0jpeg"
PDF = b"%PDF-1.4\n%%EOF"
ROME, OSLO = {"city": "Rome"}, {"city": "Oslo"}


def _blob(mime: str, data: bytes, **more: Any) -> Part:
    return Part(inline_data=Blob(mime_type=mime, data=data, **more))


def _results(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block["type"] == "tool_result"]


def _texts(message: dict[str, Any]) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def test_parallel_results_are_one_user_message(claude: Caller) -> None:
    asked = model(call("weather", ROME, "a"), call("add", {}, "b"), call("weather", OSLO, "c"))
    later = [user(result("weather", {"result": "Oslo"}, "c")), user(result("add", {"result": 3}, "b"))]
    body = claude.sent(user("Hi"), asked, *later, user(result("weather", {"result": "Rome"}, "a")), tools=tools("add"))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert {one["tool_use_id"]: one["content"][0]["text"] for one in _results(body["messages"][-1])} == {
        "a": "Rome",
        "b": "3",
        "c": "Oslo",
    }


def test_text_beside_results_comes_after_them(claude: Caller) -> None:
    answers = user("before", result("add", {"result": 1}, "a"), "between", result("add", {"result": 2}, "b"), "after")
    body = claude.sent(user("Hi"), model(call("add", {}, "a"), call("add", {}, "b")), answers, tools=tools("add"))
    last = body["messages"][-1]
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result", "text", "text", "text"]
    assert _texts(last) == ["before", "between", "after"]


def test_calls_without_result_get_an_error_result(claude: Caller) -> None:
    history = [user("Hi"), model(call("add", {}, "a"), call("add", {}, "b")), user(result("add", {"result": 1}, "b"))]
    body = claude.sent(*history, user("And now?"), model("Well."), tools=tools("add"))
    flags = {one["tool_use_id"]: one.get("is_error", False) for one in _results(body["messages"][2])}
    assert flags == {"a": True, "b": False}
    body = claude.sent(user("Hi"), model(call("add", {}, "a")), tools=tools("add"))
    assert _results(body["messages"][-1])[0]["is_error"] is True


def test_results_that_come_too_late_are_told_as_text(claude: Caller) -> None:
    history = [user("Hi"), model(call("wait", {}, "a")), user("Go on."), model("I do.")]
    body = claude.sent(*history, user(result("wait", {"result": "LATE"}, "a")), tools=tools("wait"))
    assert any("LATE" in text for text in _texts(body["messages"][-1]))


def test_error_results_say_so(claude: Caller) -> None:
    image = FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")
    failed = result("add", {"error": "BOOM"}, "a", parts=[image])
    mcp = result("add", {"content": [{"type": "text", "text": "no"}], "isError": True}, "b")
    body = claude.sent(
        user("Hi"), model(call("add", {}, "a"), call("add", {}, "b")), user(failed, mcp), tools=tools("add")
    )
    first, second = _results(body["messages"][-1])
    assert first["is_error"] is True
    assert first["content"] == [{"type": "text", "text": "BOOM"}]
    assert second["is_error"] is True
    assert [block["type"] for block in body["messages"][-1]["content"]][-1] == "image"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"result": 0}, "0"),
        ({"result": False}, "false"),
        ({"result": None}, "null"),
        ({"result": ""}, '""'),
        ({"result": "plain"}, "plain"),
        ({}, "{}"),
        ({"result": [1, "Größe"]}, '[1, "Größe"]'),
        ({"content": "a", "status": "b"}, '{"content": "a", "status": "b"}'),
        ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"n": 1}, "isError": False}, None),
    ],
)
def test_every_key_of_a_result_arrives(claude: Caller, response: dict[str, Any], text: str | None) -> None:
    history = [user("Hi"), model(call("save", {}, "a")), user(result("save", response, "a"))]
    body = claude.sent(*history, tools=tools("save"))
    (sent,) = _results(body["messages"][-1])
    if text is None:
        assert all(word in sent["content"][0]["text"] for word in ("structuredContent", '"n": 1', '"x"'))
    else:
        assert sent["content"] == [{"type": "text", "text": text}]
    assert "is_error" not in sent


def test_images_and_pdfs_stay_in_their_result(claude: Caller) -> None:
    parts = [
        FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png"),
        FunctionResponsePart.from_bytes(data=PDF, mime_type="application/pdf", display_name="paper.pdf"),
        FunctionResponsePart.from_uri(file_uri="https://example.com/fox.png", mime_type="image/png"),
        FunctionResponsePart.from_bytes(data=b"words", mime_type="text/plain"),
        FunctionResponsePart.from_bytes(data=b"RIFF", mime_type="audio/wav"),
    ]
    shot = user(result("shot", {"ok": "SEE"}, "a", parts=parts))
    body = claude.sent(user("Hi"), model(call("shot", {}, "a")), shot, tools=tools("shot"))
    (message,) = body["messages"][2:]
    assert [block["type"] for block in message["content"]] == ["tool_result"]
    inner = message["content"][0]["content"]
    assert [block["type"] for block in inner] == ["text", "image", "document", "image", "document", "text"]
    assert inner[1]["source"]["data"] == base64.b64encode(PNG).decode()
    assert inner[2]["title"] == "paper.pdf"
    assert "audio/wav" in inner[5]["text"]


def test_tool_ids_are_legal_unique_and_paired(claude: Caller) -> None:
    odd, long = "functions.weather:0/é", "x" * 70
    calls = [call("add", {"n": number}, call_id) for number, call_id in enumerate((odd, long, None, None), 1)]
    history = [
        user("Hi"),
        model(*calls),
        user(result("add", {"result": 12}, long), result("add", {"result": 11}, odd)),
        user(result("add", {"result": 13}), result("add", {"result": 14})),
        model(call("add", {"n": 5}, odd)),
        user(result("add", {"result": 15}, odd)),
    ]
    kept = copy.deepcopy(history)
    body = claude.sent(*history, tools=tools("add"))
    uses = {b["id"]: b["input"]["n"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"}
    told = {b["tool_use_id"]: int(b["content"][0]["text"]) for m in body["messages"] for b in _results(m)}
    assert sorted(uses.values()) == [1, 2, 3, 4, 5]
    assert told == {call_id: number + 10 for call_id, number in uses.items()}
    assert history == kept


def test_foreign_thoughts_stay_home(claude: Caller) -> None:
    foreign = [
        Part(text="Thinking of Gemini.", thought=True, thought_signature=b"\xfe\xff\x00sig"),
        Part(text="Thinking of OpenAI.", thought=True, thought_signature=b"gAAAAABencrypted"),
        Part(text="Unsigned.", thought=True),
        Part(text="Marked.", thought=True, thought_signature=b"abcd", part_metadata={"provider": "litellm"}),
    ]
    asked = call("add", {}, "a")
    asked.thought_signature = b"\xfe\xff"
    body = claude.sent(
        user("Hi"),
        model(*foreign, asked),
        user(result("add", {"result": 1}, "a")),
        model(foreign[0]),
        user("Go on."),
        tools=tools("add"),
        thinking_config={"thinking_budget": 2048},
        max_output_tokens=8000,
    )
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]
    assert "Thinking of" not in str(body)


def test_thinking_is_replayed_bit_for_bit(claude: Caller) -> None:
    thoughts = [
        Part(text=text, thought=True, thought_signature=signature(text).encode()) for text in ("One. ", "Two\n", "")
    ]
    history = [user("Hi"), model(*thoughts, "So:", call("add", {}, "a")), user(result("add", {"result": 1}, "a"))]
    body = claude.sent(*history, tools=tools("add"), thinking_config={"thinking_budget": 2048}, max_output_tokens=8000)
    sent = body["messages"][1]["content"][:3]
    assert [(block["thinking"], block["signature"]) for block in sent] == [
        (text, signature(text)) for text in ("One. ", "Two\n", "")
    ]


def test_unsigned_thinking_of_a_cut_stream_is_not_sent(claude: Caller) -> None:
    half = Part(text="I was going to", thought=True, part_metadata={"provider": "anthropic"})
    body = claude.sent(user("Hi"), model(half), user("Again"))
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert _texts(body["messages"][0]) == ["Hi", "Again"]


def test_a_turn_of_thoughts_only_does_not_end_a_message(claude: Caller) -> None:
    alone = Part(text="Hm.", thought=True, thought_signature=signature("Hm.").encode())
    body = claude.sent(user("Hi"), model("Well.", alone), user("And?"))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]


def test_blank_text_never_leaves(claude: Caller) -> None:
    body = claude.sent(user("Hi", ""), model("  \n"), user("\t"), model("", "Yes "), user("So?"))
    assert [(message["role"], _texts(message)) for message in body["messages"]] == [
        ("user", ["Hi"]),
        ("assistant", ["Yes "]),
        ("user", ["So?"]),
    ]
    assert _texts(claude.sent(user(" "))["messages"][0])[0].strip()
    assert claude.sent()["messages"][0]["role"] == "user"


def test_a_history_begins_and_ends_with_the_user(claude: Caller) -> None:
    for name in ("claude-sonnet-4-5", "claude-opus-5", "claude-3-haiku-20240307"):
        body = claude.sent(model("First "), user("Hi"), model("Last "), name=name)
        assert [message["role"] for message in body["messages"]] == ["user", "assistant"] * 2 + ["user"]


def test_images_documents_and_texts(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = claude.sent(
        user(
            "see",
            _blob("image/jpg; q=1", JPEG),
            _blob("image/png", JPEG),
            _blob("application/pdf", PDF),
            _blob("text/csv", b"a,b", display_name="t.csv"),
            _blob("image/svg+xml", b"<svg/>"),
            Part(file_data=FileData(file_uri="https://example.com/a.pdf", mime_type="application/pdf")),
            Part(file_data=FileData(file_uri="https://example.com/a.webp")),
            Part(file_data=FileData(file_uri="file_011CN", mime_type="image/png")),
        )
    )
    blocks = body["messages"][0]["content"]
    assert [b["type"] for b in blocks] == ["text", "image", "image", *["document"] * 4, "image", "image"]
    assert [b["source"]["media_type"] for b in blocks[1:3]] == ["image/jpeg", "image/jpeg"]
    assert blocks[4]["source"] == {"type": "text", "media_type": "text/plain", "data": "a,b"}
    assert blocks[4]["title"] == "t.csv"
    assert not caplog.records


@pytest.mark.parametrize(
    "part",
    [
        _blob("audio/wav", b"RIFF"),
        _blob("video/mp4", b"mp4"),
        _blob("image/tiff", b"II*"),
        _blob("image/png", b""),
        _blob("application/pdf", b"no pdf"),
        _blob("application/zip", b"PK"),
        Part(file_data=FileData(file_uri="gs://bucket/fox.png", mime_type="image/png")),
        Part(file_data=FileData(file_uri="http://example.com/fox.png", mime_type="image/png")),
    ],
)
def test_media_that_cannot_be_sent_are_said_once_and_named(
    claude: Caller, part: Part, caplog: pytest.LogCaptureFixture
) -> None:
    body = claude.sent(user(part), model("Hm."), user(part))
    mime = part.inline_data.mime_type if part.inline_data else part.file_data.file_uri
    assert mime in _texts(body["messages"][0])[0]
    assert len(caplog.records) == 1


def test_media_of_the_model_are_left_out_and_said(claude: Caller, caplog: pytest.LogCaptureFixture) -> None:
    body = claude.sent(user("Draw"), model("Here:", _blob("image/png", PNG), _blob("text/plain", b"words")), user("Ok"))
    assert _texts(body["messages"][1]) == ["Here:", "words"]
    assert "image/png" in caplog.text


PARTS = {
    "user": st.one_of(
        st.sampled_from(["a", " ", ""]).map(lambda text: Part(text=text)),
        st.tuples(st.sampled_from("fg"), st.sampled_from(["1", "2", None, "é"]), st.booleans()).map(
            lambda t: result(t[0], {"error": "x"} if t[2] else {"result": 1}, t[1])
        ),
    ),
    "model": st.one_of(
        st.sampled_from(["a", " ", ""]).map(lambda text: Part(text=text)),
        st.sampled_from(["t", ""]).map(
            lambda text: Part(text=text, thought=True, thought_signature=signature(text).encode())
        ),
        st.tuples(st.sampled_from("fg"), st.sampled_from(["1", "2", None, "é"])).map(lambda t: call(t[0], {}, t[1])),
    ),
}
CONTENTS = st.lists(
    st.sampled_from(["user", "model"]).flatmap(
        lambda role: st.lists(PARTS[role], max_size=4).map(lambda parts: Content(role=role, parts=parts))
    ),
    max_size=8,
)


@given(contents=CONTENTS, at=st.integers(0, 8))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_history_is_accepted_and_growing_changes_nothing(contents: list[Content], at: int) -> None:
    def said(setting: str, text: str) -> None:
        raise AssertionError(text)

    media = Media(frozenset(), frozenset())
    first = Messages(media, said)
    for content in contents[:at]:
        first.add(content)
    before = copy.deepcopy(first.copy().finish())
    grown = first.copy()
    for content in contents[at:]:
        grown.add(content)
    messages = grown.finish()
    check_messages({"messages": messages, "model": "m"}, ["f"], {}, modern=True)
    at_once = Messages(media, said)
    for content in contents:
        at_once.add(content)
    assert at_once.finish() == messages
    assert first.finish() == before
