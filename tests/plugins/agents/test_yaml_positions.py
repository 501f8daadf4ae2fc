"""Documents: strict YAML, and the line of everything in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mortise.agents.yaml_positions import Document, read_document
from mortise_kernel.errors import AgentConfigError


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
    "duplicate key": ("name: x\nname: y\n", "2: the key 'name' stands twice"),
    "nested duplicate": ("a:\n  b: 1\n  b: 2\n", "3: the key 'b' stands twice"),
    "alias": ("a: &x 1\nb: *x\n", "2: aliases are not allowed"),
    "merge": ("a: &x {c: 1}\nb:\n  <<: *x\n", "3: aliases are not allowed"),
    "tag": ("name: !!python/object/apply:os.system ['true']\n", "1: could not determine a constructor"),
    "broken": ("name: [a\nb: c\n", "2: "),
    "tab": ("name:\n\t- x\n", "2: "),
    "two documents": ("name: x\n---\nname: y\n", "2: "),
    "empty": ("", "1: the file is empty or no mapping"),
    "list": ("- a\n", "1: the file is empty or no mapping"),
    "no date": ("name: 2024-99-99\n", "1: a value is not valid YAML"),
    "control character": ("name: a\x07b\n", "1: "),
    "not utf-8": (b"name: \xff\n", "1: the file is not UTF-8 text"),
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
    start = time.process_time()
    assert refused(tmp_path, "\n".join(levels)).startswith("a.yaml:2: aliases are not allowed")
    assert time.process_time() - start < 1


def test_an_alias_that_contains_itself(tmp_path: Path) -> None:
    assert refused(tmp_path, "a: &a [*a]\n").startswith("a.yaml:1: aliases are not allowed")
