"""Documents: strict YAML, and the line of everything in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.files import read_document
from newel.files.document import Document
from newel_kernel import AgentConfigError


def read(tmp_path: Path, text: str | bytes) -> Document:
    file = tmp_path / "a.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(file)


def refused(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(AgentConfigError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


def test_lines_of_keys_and_items(tmp_path: Path) -> None:
    document = read(tmp_path, "# first\nname: x\ntools:\n  - a\n\n  - name: b\n    args:\n      c: {d: 1}\n")
    assert document.data["tools"][1]["args"] == {"c": {"d": 1}}
    assert document.line(("name",)) == 2
    assert document.line(("tools",)) == 3
    assert document.line(("tools", 1)) == 6
    assert document.line(("tools", 1, "args", "c", "d")) == 8
    assert document.line(("tools", 1, "missing", "deeper")) == 6
    assert document.line(("missing",)) == document.line()


WRONG = {
    "duplicate key": ("name: x\nname: y\n", "2: the key 'name' appears twice"),
    "nested duplicate": ("a:\n  b: 1\n  b: 2\n", "3: the key 'b' appears twice"),
    "anchor": ("a: 1\nb: &x 2\n", "2: anchors are not allowed; remove &x"),
    "alias": ("a: 1\nb: *x\n", "2: aliases are not allowed (*x); write the value out"),
    "merge": ("a: 1\nb:\n  <<: {c: 1}\n", "3: merge keys (<<) are not allowed"),
    "tag": ("name: !!python/object/apply:os.system ['true']\n", "1: tags are not allowed; remove '!!python/"),
    "plain tag": ("name: x\na: !!str 3\n", "2: tags are not allowed; remove '!!str'"),
    "own tag": ("name: !mine x\n", "1: tags are not allowed; remove '!mine'"),
    "broken": ("name: [a\nb: c\n", "2: "),
    "tab": ("name:\n\t- x\n", "2: found character '\\t' that cannot start any token; indent with spaces"),
    "colon": ("name: x\nmodel: demo:\n", "2: mapping values are not allowed here; put a string with a colon in quotes"),
    "two documents": ("name: x\n---\nname: y\n", "2: but found another document: remove the line `---`"),
    "empty": ("", "1: the file is empty or not a mapping"),
    "list": ("- a\n", "1: the file is empty or not a mapping"),
    "list as key": ("a: 1\n? [b]\n: c\n", "2: a key must be a string, not a list"),
    "no key": ("a: 1\n? \n: c\n", "2: a key must be a string"),
    "number as key": ("a: 1\n2: c\n", "2: the key 2 is not a string"),
    "digits": ("a: 1\nb: " + "1" * 5000, "2: the number has too many digits; put it in quotes"),
    "values": ("a: 1\nb: [" + "x," * 120_000 + "]", "2: the file holds more than 10,000 values; split it"),
    "deep lists": ("- " * 100_000, "1: nested deeper than 32 levels"),
    "control character": ("a: 1\nname: a\x07b\n", "2: the character U+0007 is not allowed in YAML; remove it"),
    "not utf-8": (b"a: 1\nname: \xff\n", "2: the file is not UTF-8 text; save it as UTF-8"),
    "large": ("a: " + "x" * 300_000, "1: the file is larger than 256 KiB"),
    "deep": ("name: x\ninstruction:\n  " + "[" * 5000, "3: nested deeper than 32 levels"),
    "deep blocks": ("\n".join(" " * n + "a:" for n in range(100)), "33: nested deeper than 32 levels"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refused(tmp_path, text).startswith(f"a.yaml:{message}")


def test_a_bomb_of_aliases_goes_off_nowhere(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert refused(tmp_path, "\n".join(levels)).startswith("a.yaml:1: anchors are not allowed")
    assert refused(tmp_path, "a: &a [*a]\n").startswith("a.yaml:1: anchors are not allowed")


def test_scalars_are_what_editors_take_them_for(tmp_path: Path) -> None:
    text = "a: [yes, no, on, 12:30, 2024-99-99, 1_000, true, ~, 010, 0x1F, 1e3, .5, -.inf, '3', \"true\"]\n"
    assert read(tmp_path, text).data["a"] == [
        "yes",
        "no",
        "on",
        "12:30",
        "2024-99-99",
        "1_000",
        True,
        None,
        10,
        31,
        1000.0,
        0.5,
        float("-inf"),
        "3",
        "true",
    ]


def test_a_number_of_base_sixty_is_a_text(tmp_path: Path) -> None:
    assert read(tmp_path, "a: 1" + ":59" * 80_000).data["a"].startswith("1:59:59")


# What JSON and YAML both print as it is; a `$` could begin a variable.
_CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0xFFFF, exclude_characters="$")
_TEXTS = st.text(_CHARACTERS, max_size=9)
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_DATA = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


def steps_of(value: object, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield steps
    if isinstance(value, dict):
        for key, item in value.items():
            yield from steps_of(item, (*steps, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from steps_of(item, (*steps, index))


@settings(max_examples=100, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.dictionaries(_TEXTS, _DATA, max_size=4))
def test_json_is_read_as_it_is_and_every_value_has_its_line(tmp_path: Path, data: dict[str, object]) -> None:
    text = json.dumps(data, indent=1)
    document = read(tmp_path, text)
    assert document.data == data
    assert document.lines.keys() == set(steps_of(data))
    lines = text.splitlines()
    for steps, line in document.lines.items():
        if steps and isinstance(steps[-1], str):
            assert lines[line - 1].lstrip().startswith(f"{json.dumps(steps[-1])}:")
