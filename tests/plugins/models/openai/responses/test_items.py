"""Histories as items of the Responses API, through the real SDK, judged by a strict server."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.models.openai.responses.items import Items
from newel.models.wire.names import Names
from newel.models.wire.signatures import signed
from newel_kernel import Json
from newel_testkit.wire.caller import Caller, call, model, result, tools, user
from newel_testkit.wire.http import Logged
from newel_testkit.wire.openai_items import Memory, check
from newel_testkit.wire.openai_responses import encrypted
from newel_types import Blob, Content, FileData, FunctionResponsePart, Part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
PDF = b"%PDF-1.4\n%%EOF"


def thought(text: str, item: str, provider: str = "openai-responses", proof: str | None = None) -> Part:
    return signed(Part(text=text, thought=True), provider, proof or encrypted(text), item=item)


def blob(mime: str, data: bytes) -> Part:
    return Part(inline_data=Blob(mime_type=mime, data=data))


def kinds(body: Json) -> list[str]:
    return [item.get("role") or item["type"] for item in body["input"]]


def test_calls_and_outputs_are_items(responses: Caller) -> None:
    asked = model("I look.", call("a", {"n": 1}, "call.1"), call("a", {"n": 2}))
    later = [user("before", result("a", {"r": 2})), user(result("a", {"r": 1}, "call.1"))]
    body = responses.sent(user("Hi"), asked, *later, tools=tools("a"))
    assert kinds(body) == [
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "user",
    ]
    calls, outputs = body["input"][2:4], body["input"][4:6]
    assert {one["call_id"] for one in calls} == {one["call_id"] for one in outputs}
    assert [json.loads(one["output"]) for one in outputs] == [{"r": 2}, {"r": 1}]
    assert not any("id" in item for item in body["input"])


def test_assistant_text_is_output_text(responses: Caller) -> None:
    body = responses.sent(user("Hi"), model("Yes."), user("?"))
    assert body["input"][1]["content"] == [{"type": "output_text", "text": "Yes.", "annotations": []}]


def test_reasoning_items_precede_their_item(responses: Caller) -> None:
    step = model(thought("Why?", "rs_1"), call("a", {}, "1"))
    last = model(thought("", "rs_2", proof=encrypted("x")), "Done.", thought("After.", "rs_3"))
    body = responses.sent(user("Hi"), step, user(result("a", {}, "1")), last, user("?"), name="gpt-5", tools=tools("a"))
    assert kinds(body) == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
        "reasoning",
        "assistant",
        "user",
    ]
    assert body["input"][1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Why?"}],
        "encrypted_content": encrypted("Why?"),
    }
    assert body["input"][4]["summary"] == []


def test_foreign_thoughts_stay_home(responses: Caller) -> None:
    foreign = [thought("a", "rs_1", "openai"), Part(text="b", thought=True, thought_signature=b"\xff")]
    body = responses.sent(user("Hi"), model(*foreign, "Yes."), user("?"), name="gpt-5")
    assert kinds(body) == ["user", "assistant", "user"]


def test_store_false_needs_encrypted_content(responses: Caller) -> None:
    body = responses.sent(user("Hi"), name="gpt-5")
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert "include" not in responses.sent(user("Hi"))


def test_results_carry_images_and_files(responses: Caller) -> None:
    media = [FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")]
    media.append(FunctionResponsePart.from_bytes(data=PDF, mime_type="application/pdf"))
    asked = user(result("a", {"ok": 1}, "1", media))
    output = responses.sent(user("Hi"), model(call("a", {}, "1")), asked, tools=tools("a"))["input"][-1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image", "input_file"]


def test_input_image_is_a_string(responses: Caller) -> None:
    files = [("https://x.example/fox.png", "image/png"), ("https://x.example/a.pdf", None)]
    files.append(("file-1", "application/pdf"))
    parts = [Part(file_data=FileData(file_uri=uri, mime_type=mime)) for uri, mime in files]
    message = user("See", blob("image/jpg", PNG), *parts, blob("application/pdf", PDF))
    sent = responses.sent(message)["input"][0]["content"]
    assert sent[1]["image_url"].startswith("data:image/jpeg;base64,")
    assert sent[2]["image_url"] == "https://x.example/fox.png"
    assert sent[3]["file_url"] == "https://x.example/a.pdf"
    assert sent[4]["file_id"] == "file-1"
    assert sent[5]["filename"] == "document.pdf"


@pytest.mark.parametrize("part", [blob("audio/wav", b"w"), blob("video/mp4", b"v"), blob("image/tiff", b"t")])
def test_what_cannot_be_sent_is_left_out_and_said(
    part: Part, responses: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    body = responses.sent(user("See", part))
    assert "left out" in body["input"][0]["content"][1]["text"]
    assert any("cannot be sent" in record.getMessage() for record in caplog.records)


_IDS = st.sampled_from([None, "1", "2", "functions.a:0/é", "x" * 70])
_PARTS = st.one_of(
    st.sampled_from(["", " ", "Hi"]).map(lambda text: Part(text=text)),
    st.builds(lambda call_id: call("a", {}, call_id), _IDS),
    st.builds(lambda call_id: result("a", {"r": 1}, call_id), _IDS),
    st.builds(lambda text: thought(text, f"rs_{text}"), st.sampled_from(["", "x"])),
    st.just(blob("video/mp4", b"v")),
)
_CONTENTS = st.builds(
    lambda role, parts: Content(role=role, parts=parts),
    st.sampled_from(["user", "model"]),
    st.lists(_PARTS, max_size=4),
)


def _converted(contents: list[Content], cut: int | None = None) -> tuple[list[Json], str]:
    items = Items("openai-responses", "gpt-5", frozenset({"image"}), Names(), lambda *_: None, stored=True)
    for index, content in enumerate(contents):
        if index == cut:
            meanwhile = items.copy()
            meanwhile.whole()
            assert meanwhile.digest
        items.add(content)
    return items.whole(), items.digest


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(contents=st.lists(_CONTENTS, max_size=8), cut=st.integers(0, 8))
def test_any_history_is_accepted(contents: list[Content], cut: int) -> None:
    items, digest = _converted(contents)
    body = {"model": "gpt-5", "store": False, "input": items or [{"role": "user", "content": "x"}]}
    check(Logged("POST", "", "", {"authorization": "Bearer x"}, body, 1, 0.0), Memory())
    assert _converted(contents, cut) == (items, digest)
