"""FileArtifactService: artifacts in a folder.

``root/<app>/<user>/[session-<id>/]artifact-<name>/<version>/`` holds ``artifact.json`` (the part and its
metadata) and, if the part has bytes, ``data``. A version is written next to its place and renamed into it. So it
exists whole or not at all, and of two writers one takes the next number.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from newel.artifacts.base_artifact_service import ArtifactVersion
from newel.artifacts.contract import ArtifactStore, StoredVersion
from newel.artifacts.stored_part import as_json, as_metadata, as_part, is_withdrawn, mime_type, named, scope_of
from newel_kernel import ConfigurationError, Json, seam
from newel_types import Part

_FILE, _DATA = "artifact.json", "data"
_ARTIFACT, _SESSION = "artifact-", "session-"
_NEW, _TRASH = ".new-", ".gone-"
_EXISTS = (errno.EEXIST, errno.ENOTEMPTY)


class FileArtifactService(ArtifactStore):
    """Versions of artifacts under `root_dir`, which is created when needed. Several processes may share it."""

    def __init__(self, root_dir: str | Path) -> None:
        self.root_dir = Path(root_dir).expanduser().resolve()

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: Part | Json,
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> int:
        """Store a new version."""
        part = as_part(artifact)
        folder = self._folder(app_name, user_id, session_id, filename)
        metadata = {
            "app_name": app_name,
            "user_id": user_id,
            "session_id": scope_of(filename, session_id),
            "filename": filename,
            "custom_metadata": as_metadata(custom_metadata),
            "mime_type": mime_type(part),
        }
        return await asyncio.to_thread(self._save, folder, part, metadata)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> Part | None:
        """A version, or None."""
        folder = self._folder(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._load, folder, version)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names of the session's and of the user's artifacts."""
        owners = (None,) if session_id is None else (None, session_id)
        folders = [self._owner(app_name, user_id, owner) for owner in owners]
        return await asyncio.to_thread(lambda: sorted(name for folder in folders for name in self._names(folder)))

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete every version."""
        await asyncio.to_thread(self._delete, self._folder(app_name, user_id, session_id, filename))

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers."""
        return await asyncio.to_thread(self._numbers, self._folder(app_name, user_id, session_id, filename))

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """The metadata of a version."""
        folder = self._folder(app_name, user_id, session_id, filename)
        return await asyncio.to_thread(self._version, folder, version)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session's folder."""
        await asyncio.to_thread(self._delete, self._owner(app_name, user_id, session_id))

    async def delete_version(
        self, *, app_name: str, user_id: str, filename: str, version: int, session_id: str | None = None
    ) -> None:
        """Delete one version."""
        folder = self._folder(app_name, user_id, session_id, filename)
        await asyncio.to_thread(self._delete, folder / str(version))

    async def stored(self, *, app_name: str) -> list[StoredVersion]:
        """Every version of an app's artifacts."""
        return await asyncio.to_thread(self._stored, app_name)

    async def incomplete_writes(self, *, app_name: str, before: float, delete: bool) -> list[str]:
        """Versions that were only partly written, and deletions that stopped halfway."""
        return await asyncio.to_thread(self._leftovers, app_name, before, delete)

    def _folders(self, app_name: str, pattern: str) -> list[Path]:
        app = self._inside(self.root_dir / named(app_name))
        return [self._inside(path) for path in app.rglob(pattern) if path.is_dir()] if app.is_dir() else []

    def _stored(self, app_name: str) -> list[StoredVersion]:
        folders = [path for path in self._folders(app_name, _ARTIFACT + "*") if not self._is_leftover(path)]
        entries = [self._read(folder, number) for folder in folders for number in self._numbers(folder)]
        return [
            StoredVersion(one["user_id"], one["session_id"], one["filename"], number, one["create_time"])
            for number, _, one in (entry for entry in entries if entry is not None)
        ]

    def _is_leftover(self, path: Path) -> bool:
        """Whether `path` lies in a folder that an unfinished save or deletion left."""
        return any(part.startswith((_NEW, _TRASH)) for part in path.relative_to(self.root_dir).parts)

    def _leftovers(self, app_name: str, before: float, delete: bool) -> list[str]:
        paths = [*self._folders(app_name, _NEW + "*"), *self._folders(app_name, _TRASH + "*")]
        old = [path for path in paths if path.stat().st_mtime < before]
        for path in old if delete else ():
            shutil.rmtree(path, ignore_errors=True)
        return [path.as_uri() for path in sorted(old)]

    def _owner(self, app_name: str, user_id: str, session_id: str | None) -> Path:
        user = self.root_dir / named(app_name) / named(user_id)
        return user if session_id is None else user / (_SESSION + named(session_id))

    def _folder(self, app_name: str, user_id: str, session_id: str | None, filename: str) -> Path:
        return self._owner(app_name, user_id, scope_of(filename, session_id)) / (_ARTIFACT + named(filename))

    def _inside(self, path: Path) -> Path:
        """`path`, if it lies under the root after symbolic links are followed; else an error."""
        if not path.resolve().is_relative_to(self.root_dir):
            raise ConfigurationError(f"{path} leads out of the artifact folder {self.root_dir}: it is a symbolic link")
        return path

    def _save(self, folder: Path, part: Part, metadata: Json) -> int:
        blob = part.inline_data
        if blob is not None:
            part = part.model_copy(update={"inline_data": blob.model_copy(update={"data": None})})
        stored = {**metadata, "create_time": seam.clock(), "part": part.model_dump(mode="json", exclude_none=True)}
        text = as_json(stored)
        new = self._inside(folder) / (_NEW + seam.new_id())
        new.mkdir(parents=True)
        try:
            if blob is not None:
                _write(new / _DATA, blob.data or b"")
            _write(new / _FILE, text.encode())
            _sync(new)
            number = self._take_number(folder, new)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        try:
            self._sync_place(folder, first=number == 0)
        except OSError:
            with suppress(OSError):  # the caller sees the error, and saves again
                self._delete(folder / str(number))
            raise
        return number

    def _sync_place(self, folder: Path, *, first: bool) -> None:
        """Make a version's name durable, and for an artifact's first version the names of its parent folders."""
        _sync(folder)
        for parent in folder.parents if first else ():
            _sync(parent)
            if parent == self.root_dir.parent:
                return

    def _take_number(self, folder: Path, new: Path) -> int:
        number = max(self._numbers(folder), default=-1) + 1
        while True:
            try:
                new.rename(folder / str(number))
                return number
            except OSError as error:
                if error.errno not in _EXISTS:
                    raise
                number += 1

    def _numbers(self, folder: Path) -> list[int]:
        try:
            names = os.listdir(self._inside(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(name) for name in names if re.fullmatch("[0-9]+", name))

    def _read(self, folder: Path, version: int | None) -> tuple[int, Path, Json] | None:
        numbers = self._numbers(folder)
        number = numbers[-1] if numbers and version is None else version
        if number is None or number not in numbers:
            return None
        path = self._inside(folder / str(number))
        try:
            return number, path, json.loads(self._inside(path / _FILE).read_bytes())
        except FileNotFoundError:
            return None  # deleted in between
        except ValueError as error:
            raise ConfigurationError(f"{path / _FILE} is damaged: {error}") from None

    def _load(self, folder: Path, version: int | None) -> Part | None:
        entry = self._read(folder, version)
        if entry is None:
            return None
        _, path, stored = entry
        part: Part = Part.model_validate(stored["part"])
        if part.inline_data is not None:
            part.inline_data.data = self._inside(path / _DATA).read_bytes()
        return None if is_withdrawn(part) else part

    def _version(self, folder: Path, version: int | None) -> ArtifactVersion | None:
        entry = self._read(folder, version)
        if entry is None:
            return None
        number, path, stored = entry
        data = path / _DATA
        return ArtifactVersion(
            version=number,
            canonical_uri=(data if data.exists() else path / _FILE).as_uri(),
            custom_metadata=stored["custom_metadata"],
            create_time=stored["create_time"],
            mime_type=stored["mime_type"],
        )

    def _names(self, owner: Path) -> Iterator[str]:
        if not self._inside(owner).is_dir():
            return
        for folder in owner.glob(_ARTIFACT + "*"):
            if (entry := self._read(folder, None)) is not None:
                yield entry[2]["filename"]

    def _delete(self, folder: Path) -> None:
        trash = folder.with_name(_TRASH + seam.new_id())
        try:
            self._inside(folder).rename(trash)
        except FileNotFoundError:
            return
        _sync(folder.parent)
        shutil.rmtree(trash, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make a rename durable, if the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
