"""Turns: any history alternates, every call has one result right after it, and no words are lost."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from newel.models.wire.names import CallIds, Names
from newel.models.wire.turns import turns_of
from newel_testkit.wire.caller import call, model, result, user
from newel_types import Blob, Content, Part

_IDS = st.sampled_from([None, "a", "b", "functions.x:0/é"])
_NAMES = st.sampled_from(["f", "files.read"])
_PARTS = st.one_of(
    st.builds(Part, text=st.sampled_from(["one", "two", " ", ""])),
    st.builds(lambda text: Part(text=text, thought=True), st.just("hm")),
    st.builds(lambda name, id_: call(name, {"x": 1}, id_), _NAMES, _IDS),
    st.builds(lambda name, id_: result(name, {"y": 2}, id_), _NAMES, _IDS),
)
_CONTENTS = st.lists(st.builds(Content, role=st.sampled_from(["user", "model"]), parts=st.lists(_PARTS, max_size=4)))


@settings(max_examples=int(os.environ.get("NEWEL_EXAMPLES", "60")), deadline=None)
@given(_CONTENTS)
def test_any_history_alternates_and_each_call_is_answered_once(contents: list[Content]) -> None:
    turns = list(turns_of(contents, Names(), CallIds(40)))
    called: list[str] = []
    for turn in turns:
        if turn.results or called:
            assert (turn.role, sorted(one.id for one in turn.results)) == ("user", sorted(called))
        called = [one.id for one in turn.calls] if turn.role == "model" else []
    assert called == []
    texts = [p.text for c in contents for p in c.parts or () if p.text and p.text.strip() and not p.thought]
    assert [text for turn in turns for text in turn.texts] == texts


def test_results_go_first_and_media_are_kept() -> None:
    picture = Part(inline_data=Blob(mime_type="image/png", data=b"x"))
    asked = model("Wait.", call("files.read", {"p": 1}, "c1"), call("f", {}, "c2"))
    contents = [user("Hi"), asked, user("Now", result("f", {"y": 2}, "c2")), user(picture)]
    first, said, answered = turns_of(contents, Names(), CallIds())
    assert (first.texts, said.texts, [one.name for one in said.calls][1]) == (["Hi"], ["Wait."], "f")
    assert [one.response.get("y") for one in answered.results] == [2, None]
    assert "no result" in answered.results[1].response["error"]
    assert (answered.texts, answered.others) == (["Now"], [picture])
