"""SharedContents: whatever is done through the list, the shared contents stay as they were."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

from newel_types import Content, FrozenContent, FrozenError, Part, SharedContents, freeze


def content(text: str) -> Content:
    parts = [Part(text=text), Part.from_function_call(name=text, args={"list": [text]})]
    return Content(role="user", parts=parts)


def history() -> list[Content]:
    return [freeze(content(text)) for text in "abc"]


def deface(item: Content) -> None:
    """Change an element at every depth."""
    item.role = "defaced"
    assert item.parts is not None
    item.parts[0].text = "defaced"
    call = item.parts[1].function_call
    assert call is not None
    assert call.args is not None
    call.args["list"].append("defaced")
    item.parts.append(Part(text="defaced"))


def deface_all(items: Any) -> None:
    for item in items:
        deface(item)


def unpacked(shared: SharedContents) -> list[Content]:
    a, *rest = shared
    return [a, *rest]


def extended(shared: SharedContents) -> list[Content]:
    plain: list[Content] = []
    plain.extend(shared)
    plain += shared
    plain[1:1] = shared
    return plain


def shuffled(shared: SharedContents) -> list[Content]:
    random.Random(0).shuffle(shared)
    return list(shared)


def sort_key(item: Content) -> str:
    return (item.parts or [])[0].text or ""


READS: dict[str, Callable[[SharedContents], Any]] = {
    "index": lambda s: [s[0], s[-1], s[1]],
    "slice": lambda s: s[:],
    "step slice": lambda s: s[::-2],
    "iteration": list,
    "comprehension": lambda s: [c for c in s],  # noqa: C416
    "tuple": tuple,
    "sorted": lambda s: sorted(s, key=sort_key),
    "reversed": lambda s: list(reversed(s)),
    "enumerate": lambda s: [c for _, c in enumerate(s)],
    "zip": lambda s: [c for c, _ in zip(s, s, strict=True)],
    "map": lambda s: list(map(lambda c: c, s)),  # noqa: C417
    "filter": lambda s: list(filter(None, s)),
    "next": lambda s: [next(iter(s))],
    "max": lambda s: [max(s, key=sort_key)],
    "star": lambda s: [*s],
    "unpacking": unpacked,
    "add": lambda s: s + [content("d")],  # noqa: RUF005
    "add to a list": lambda s: [content("d")] + s,  # noqa: RUF005
    "multiply": lambda s: (s * 2)[:3],
    "multiply by": lambda s: (2 * s)[:3],
    "extend a list": extended,
    "pop": lambda s: [s.pop(), s.pop(0)],
    "copy": lambda s: s.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
}
EDITS: dict[str, Callable[[SharedContents], Any]] = {
    "append": lambda s: s.append(content("d")),
    "extend": lambda s: s.extend([content("d")]),
    "iadd": lambda s: s.__iadd__([content("d")]),
    "imul": lambda s: s.__imul__(2),
    "insert": lambda s: s.insert(1, content("d")),
    "set": lambda s: s.__setitem__(0, content("d")),
    "set slice": lambda s: s.__setitem__(slice(0, 2), [content("d")]),
    "delete": lambda s: s.__delitem__(0),
    "delete slice": lambda s: s.__delitem__(slice(0, 2)),
    "remove": lambda s: s.remove(content("b")),
    "reverse": lambda s: s.reverse(),
    "sort": lambda s: s.sort(key=sort_key, reverse=True),
    "shuffle": shuffled,
    "clear": lambda s: s.clear(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_read_through_the_list_can_be_changed_freely(read: Callable[[SharedContents], Any]) -> None:
    original = history()
    deface_all(read(SharedContents(original)))
    assert original == history()
    assert all(item.__class__ is FrozenContent for item in original)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edits_behave_as_a_list_s_and_leave_the_shared_contents(edit: Callable[[Any], Any]) -> None:
    original = history()
    shared, plain = SharedContents(original), list(history())
    edit(shared)
    edit(plain)
    assert shared.frozen() == plain
    deface_all(shared)
    assert original == history()


def test_reads_agree_with_a_list_s() -> None:
    shared, plain = SharedContents(history()), history()
    assert list(shared) == plain
    assert shared == plain
    assert len(shared) == 3
    assert content("b") in shared
    assert shared.index(content("b")) == 1
    assert shared.count(content("b")) == 1
    assert shared[-1] == plain[-1]
    assert shared[5:] == []
    with pytest.raises(IndexError):
        shared[3]
    with pytest.raises(IndexError):
        SharedContents().pop()


def test_an_edit_through_the_list_stays_in_it() -> None:
    shared = SharedContents(history())
    deface(shared[1])
    assert shared[1].role == "defaced"
    assert [item.role for item in shared] == ["user", "defaced", "user"]


def test_an_edit_of_a_copy_stays_in_the_copy() -> None:
    shared = SharedContents(history())
    deface(shared[0])
    before = [item.model_dump() for item in shared.frozen()]
    deface_all(shared.copy())
    assert [item.model_dump() for item in shared.frozen()] == before


def test_untouched_contents_are_not_copied() -> None:
    original = history()
    shared = SharedContents(original)
    deface(shared[1])
    mine = shared.frozen()
    assert mine[0] is original[0]
    assert mine[1] is not original[1]
    assert mine[2] is original[2]


def test_json_of_a_shared_list() -> None:
    dumped = [item.model_dump(exclude_none=True) for item in SharedContents(history())]
    assert json.loads(json.dumps(dumped))[0]["role"] == "user"


def test_a_copied_text_part_keeps_its_unknown_fields() -> None:
    part = {"text": "a", "novel": {"list": [1]}}
    (copied,) = SharedContents([freeze(Content.model_validate({"role": "user", "parts": [part]}))])
    assert copied.model_dump(exclude_none=True)["parts"] == [part]


@pytest.mark.parametrize("wrap", [lambda parts: parts, lambda parts: [*parts, Part(text="b")]], ids=["alone", "second"])
@pytest.mark.parametrize("name", [name for name in Part.field_names if name != "text"])
def test_a_copied_part_has_what_its_original_has(name: str, wrap: Callable[[list[Part]], list[Part]]) -> None:
    values: dict[str, Any] = {
        "thought": True,
        "thought_signature": b"s",
        "function_call": {"name": "f", "args": {"list": [1]}, "partial_args": [{"json_path": "$.a"}]},
        "function_response": {"name": "f", "response": {"list": [1]}, "scheduling": "SILENT"},
        "inline_data": {"data": b"d", "mime_type": "image/png"},
        "file_data": {"file_uri": "gs://a/b"},
        "executable_code": {"code": "1", "language": "PYTHON"},
        "code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"},
        "video_metadata": {"start_offset": "1s"},
        "media_resolution": {"level": "MEDIA_RESOLUTION_LOW"},
        "part_metadata": {"list": [1]},
    }
    for text in ("a", None):
        original = freeze(Content(role="user", parts=wrap([Part.model_validate({"text": text, name: values[name]})])))
        before = original.model_dump()
        (copied,) = SharedContents([original])
        assert copied.model_dump() == before
        assert copied.parts is not None
        for part in copied.parts:
            for field in Part.field_names:
                value = getattr(part, field)
                if isinstance(value, dict):
                    value["list"].append(2)
                elif hasattr(value, "field_names"):
                    for inner in value.field_names:
                        setattr(value, inner, None)
                setattr(part, field, None)
        assert original.model_dump() == before


def test_a_copied_content_keeps_its_unknown_fields() -> None:
    said = {"role": "user", "parts": [{"text": "a"}], "novel": {"list": [1]}}
    original = freeze(Content.model_validate(said))
    (copied,) = SharedContents([original])
    assert copied.model_dump(exclude_none=True) == said
    copied.model_dump()["novel"]["list"].append(2)
    assert original.model_dump(exclude_none=True) == said


def test_a_reader_that_stops_early_copies_few() -> None:
    shared = SharedContents([freeze(content(str(number))) for number in range(100)])
    for number, _ in enumerate(shared):
        if number == 9:
            break
    copied = [item.__class__ is not FrozenContent for item in shared.frozen()]
    assert copied == [True] * 15 + [False] * 85


def test_contents_that_come_while_the_list_is_read_are_copied_too() -> None:
    original = history()
    shared, seen = SharedContents(original[:2]), []
    for item in shared:
        seen.append(item)
        if len(shared) == 2:
            shared.insert(1, original[2])
        deface(item)
    assert [item.role for item in seen] == ["defaced"] * 3
    assert original == history()


def test_a_frozen_text_is_a_part_that_cannot_be_set() -> None:
    (part,) = freeze(Content(role="user", parts=[Part(text="a", thought_signature=b"s")])).parts or ()
    plain = Part(text="a", thought_signature=b"s")
    assert (part, repr(part), type(part).__name__) == (plain, repr(plain), "Part")
    assert isinstance(part, Part)
    assert part.model_dump_json() == plain.model_dump_json()
    with pytest.raises(FrozenError, match=r"Part\.text cannot be set"):
        part.text = "b"
    for made in (pickle.loads(pickle.dumps(part)), copy.copy(part), copy.deepcopy(part), part.model_copy()):
        assert made == plain
        made.text = "b"
    assert part == plain
