"""A broken package breaks only itself; what the configuration names fails closed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel_compose import compose
from newel_compose._internal.discovery import _entries
from newel_kernel import ConfigurationError, PluginLoadError


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("entry_points.txt", "[console_scripts]\nfür = x:y\n".encode("latin-1")),
        ("entry_points.txt", b"\xff\xfe\x00\x01" * 50),
        ("entry_points.txt", b"[newel.plugins]\nodd\n"),
        ("entry_points.txt", b"[newel.plugins]\nodd = fake_\xff\n"),
        ("METADATA", "Name: odd\nAuthor: Müller\n".encode("latin-1")),
    ],
)
def test_damaged_metadata_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes) -> None:
    folder = tmp_path / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n\n")
    (folder / "entry_points.txt").write_bytes(b"[newel.plugins]\nodd = no_such_module\n")
    (folder / name).write_bytes(data)
    monkeypatch.syspath_prepend(str(tmp_path))
    states = {record.name: record.state for record in compose("standard").plugins}
    assert states["contents"] == "enabled"
    assert states.get("odd", "failed") == "failed"


@given(st.text(max_size=200))
def test_any_text_can_be_read_for_entry_points(text: str) -> None:
    assert all(len(entry) == 3 for entry in _entries(text))


@pytest.mark.parametrize("error", ["SystemExit(0)", "GeneratorExit", "type('E', (BaseException,), {})('x')"])
@pytest.mark.parametrize("where", ["", "from newel_kernel import hookimpl\n@hookimpl\ndef register_settings():\n    "])
def test_a_plugin_that_raises_anything_is_left_out(site: Any, error: str, where: str) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd=f"{where}raise {error}")
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert record.state in ("failed", "left out")
    sys.modules.pop("fake_odd", None)


def test_a_plugin_whose_names_cannot_be_listed_is_left_out(site: Any) -> None:
    source = "class Odd:\n    def __dir__(self):\n        raise RuntimeError('no names')\n\nplugin = Odd()"
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd:plugin"}, fake_odd=source)
    record = next(record for record in compose("standard").plugins if record.name == "odd")
    assert (record.state, "RuntimeError: no names" in record.why) == ("left out", True)


def test_a_plugin_that_is_only_configured_must_load(site: Any, extending: Any) -> None:
    site.install("newel-odd", "2.1", plugins={"odd": "fake_odd"}, fake_odd="import no_such_sdk")
    with pytest.raises(PluginLoadError, match=r"the plugin 'odd' .* failed to load"):
        compose(extending("standard", "settings: {odd: {}}"))


def test_a_file_that_enables_and_disables_a_plugin_is_refused(site: Any, extending: Any) -> None:
    with pytest.raises(ConfigurationError, match="'planning' is listed under `plugins` and under `disable`"):
        compose(extending("standard", "plugins: [planning]\ndisable: [planning]"))
