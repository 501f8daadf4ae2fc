"""FileArtifactService: what is on the disk."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from newel.artifacts import FileArtifactService
from newel_kernel import ConfigurationError
from newel_types import Blob, Part

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


def save(store: FileArtifactService, text: str = "x", **options: Any) -> int:
    return asyncio.run(store.save_artifact(**{**WHERE, "filename": "a", "artifact": Part(text=text), **options}))


def load(store: FileArtifactService, **where: Any) -> Part | None:
    return asyncio.run(store.load_artifact(**{**WHERE, "filename": "a", **where}))


def delete(store: FileArtifactService) -> None:
    asyncio.run(store.delete_artifact(**WHERE, filename="a"))


def folder(root: Path) -> Path:
    (found,) = root.rglob("artifact-*")
    return found


def test_another_process_finds_what_was_saved(tmp_path: Path) -> None:
    save(FileArtifactService(tmp_path), "kept")
    part = load(FileArtifactService(str(tmp_path)))
    assert part is not None
    assert part.text == "kept"


def test_nothing_is_made_by_reading(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path / "store")
    assert load(store) is None
    assert asyncio.run(store.list_artifact_keys(**WHERE)) == []
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("field", ["app_name", "user_id", "session_id"])
@pytest.mark.parametrize("value", ["../../x", "/etc", "a\x00b", "..", "."])
def test_no_id_leads_out(field: str, value: str, tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path / "store")
    save(store, **{field: value})
    assert load(store, **{field: value}) is not None
    assert load(store) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_a_symbolic_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path / "store")
    save(store)
    inside = folder(tmp_path / "store")
    elsewhere = tmp_path / "elsewhere"
    inside.rename(elsewhere)
    inside.symlink_to(elsewhere)
    for work in (load, save, delete):
        with pytest.raises(ConfigurationError, match="symbolic link"):
            work(store)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["0"]


def test_a_link_in_place_of_the_data_is_refused(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path / "store")
    (tmp_path / "secret").write_text("secret")
    save(store, artifact=Part(inline_data=Blob(mime_type="x/y", data=b"x")))
    data = folder(tmp_path / "store") / "0" / "data"
    data.unlink()
    data.symlink_to(tmp_path / "secret")
    with pytest.raises(ConfigurationError, match="symbolic link"):
        load(store)


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = FileArtifactService(tmp_path / "link")
    save(store)
    assert load(store) is not None


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileArtifactService(tmp_path)
    save(store, "first")

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save(store, "second")
    monkeypatch.undo()
    assert [path.name for path in folder(tmp_path).iterdir()] == ["0"]
    assert save(store, "third") == 1


def test_metadata_that_is_no_json_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path)
    with pytest.raises(ConfigurationError, match="must be JSON"):
        save(store, custom_metadata={"x": object()})
    assert list(tmp_path.rglob("*.json")) == []


def test_what_a_crash_left_half_written_does_not_count(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path)
    save(store)
    (folder(tmp_path) / ".new-1").mkdir()
    (folder(tmp_path) / "notes.txt").write_text("x")
    assert asyncio.run(store.list_versions(**WHERE, filename="a")) == [0]
    assert save(store) == 1


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path)
    save(store)
    file = folder(tmp_path) / "0" / "artifact.json"
    assert json.loads(file.read_text())["filename"] == "a"
    file.write_text("{")
    with pytest.raises(ConfigurationError, match=r"artifact\.json is damaged"):
        load(store)


def test_the_address_is_where_the_data_is(tmp_path: Path) -> None:
    store = FileArtifactService(tmp_path)
    save(store, artifact=Part(inline_data=Blob(mime_type="x/y", data=b"bytes")))
    version = asyncio.run(store.get_artifact_version(**WHERE, filename="a"))
    assert version is not None
    assert Path(version.canonical_uri.removeprefix("file://")).read_bytes() == b"bytes"
