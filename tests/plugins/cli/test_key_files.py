"""A file of keys that cannot be used ends no command in a traceback, is named, and never shows a key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.cli import doctor, key_store

KEY = "sk-SECRET-abcdef123456"
WRITTEN = f'{{"OPENAI_API_KEY": "{KEY}"}}'


def _with_mode(mode: int) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        file.write_text(WRITTEN)
        file.chmod(mode)

    return make


def _with(data: bytes) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        file.write_bytes(data)
        file.chmod(0o600)

    return make


def _linked(file: Path) -> None:
    target = file.with_name("elsewhere.json")
    target.write_text(WRITTEN)
    target.chmod(0o644)
    file.symlink_to(target)


#: What may stand where the keys should be.
FILES: dict[str, Callable[[Path], None]] = {
    "read by all": _with_mode(0o644),
    "read by the group": _with_mode(0o640),
    "written by others": _with_mode(0o602),
    "a link to a file that is read by all": _linked,
    "cut off": _with(WRITTEN[:-4].encode()),
    "empty": _with(b""),
    "a list": _with(f'["{KEY}"]'.encode()),
    "keys that are no texts": _with(f'{{"OPENAI_API_KEY": {{"key": "{KEY}"}}}}'.encode()),
    "of another encoding": _with(f'{{"OPENAI_API_KEY": "{KEY}ü"}}'.encode("latin-1")),
    "binary": _with(bytes(range(256))),
    "nested without end": _with(b"[" * 100_000),
    "a folder": lambda file: file.mkdir(),
}


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("command", [("keys", "list"), ("models",), ("doctor",), ("plugins",)], ids=" ".join)
def test_a_file_of_keys_that_cannot_be_used_is_named(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, command: tuple[str, ...]
) -> None:
    file = tmp_path / "keys" / "keys.json"
    monkeypatch.setenv("NEWEL_KEYS", str(file))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(doctor, "_conflicts", lambda package: iter(()))
    file.parent.mkdir(mode=0o700)
    FILES[form](file)
    result = project.newel(*command)  # what is not an error with a text is raised here
    said = result.stdout + result.stderr
    assert KEY not in said
    assert "Traceback" not in said
    if command[0] in ("keys", "doctor"):  # they are about it
        assert result.exit_code != 0
        assert str(file) in said
    else:
        assert result.exit_code == 0, said
    warned = key_store.load()
    assert warned is not None
    assert str(file) in warned
    assert KEY not in warned
