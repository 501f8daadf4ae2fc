"""ObjectArtifactService: artifacts in a bucket.

The data of a version is first written under its own key. Then its record is written if the number is free: the second
writer takes the next number. So a version exists whole or not at all, data is uploaded once whichever writer wins, and
a retry after a lost answer finds its own record.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from newel.artifacts.base_artifact_service import ArtifactVersion
from newel.artifacts.contract import ArtifactStore, StoredVersion
from newel.artifacts.objects.bucket import Bucket
from newel.artifacts.objects.calls import KeyExistsError, each
from newel.artifacts.objects.keys import (
    ARTIFACTS,
    DATA,
    Owner,
    filename_of,
    number_key,
    segment_of,
    version_of,
)
from newel.artifacts.stored_part import as_json, as_metadata, as_part, is_withdrawn, mime_type, named, scope_of
from newel_kernel import ConfigurationError, Json, seam
from newel_types import Part

_JSON = "application/json"
_BINARY = "application/octet-stream"


class _Place(NamedTuple):
    """Where the versions of an artifact are."""

    owner: Owner
    folder: str
    filename: str

    @property
    def records(self) -> str:
        return f"{self.folder}{ARTIFACTS}{segment_of(self.filename)}/"


class ObjectArtifactService(ArtifactStore):
    """Versions of artifacts in a bucket, below a prefix. Several processes and machines may share it."""

    def __init__(self, bucket: Bucket, prefix: str = "") -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

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
        place = self._place(app_name, user_id, session_id, filename)
        shell, data = _split(part)
        id_ = seam.new_id()
        key = f"{place.folder}{DATA}{id_}"
        record = as_json(
            {
                **place.owner._asdict(),
                "filename": filename,
                "custom_metadata": as_metadata(custom_metadata),
                "mime_type": mime_type(part),
                "create_time": seam.clock(),
                "id": id_,
                "part": shell.model_dump(mode="json", exclude_none=True),
                "data": None if data is None else key,
                "size": len(data or b""),
            }
        ).encode()
        if data is not None:
            await self._bucket.put(key, data, _content_type(part))
        return await self._take_number(place, record, id_)

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
        record = await self._record(self._place(app_name, user_id, session_id, filename), version)
        if record is None:
            return None
        data = b""
        if record["data"] is not None:
            got = await self._bucket.get(record["data"], record["size"])
            if got is None:
                return None  # deleted in between
            data = got
        if len(data) != record["size"]:
            raise ConfigurationError(
                f"{self._bucket.uri(record['data'])} is damaged: it has {len(data)} of {record['size']} bytes"
            )
        part = _joined(Part.model_validate(record["part"]), data)
        return None if is_withdrawn(part) else part

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str | None = None) -> list[str]:
        """The names of the session's and of the user's artifacts."""
        owners = [Owner(app_name, user_id, None)]
        if session_id is not None:
            owners.append(Owner(app_name, user_id, session_id))
        lists = await asyncio.gather(*(self._names(f"{owner.folder(self._prefix)}{ARTIFACTS}") for owner in owners))
        return sorted(name for names in lists for name in names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete every version."""
        place = self._place(app_name, user_id, session_id, filename)
        await self._delete([entry.key for entry in await self._bucket.entries(place.records)])

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """The version numbers."""
        place = self._place(app_name, user_id, session_id, filename)
        return sorted(_versions(entry.key for entry in await self._bucket.entries(place.records)))

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
        place = self._place(app_name, user_id, session_id, filename)
        record = await self._record(place, version)
        if record is None:
            return None
        return ArtifactVersion(
            version=record["version"],
            canonical_uri=self._bucket.uri(record["data"] or place.records + number_key(record["version"])),
            custom_metadata=record["custom_metadata"],
            create_time=record["create_time"],
            mime_type=record["mime_type"],
        )

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """The metadata of each version, ascending; several are read at once."""
        where: Json = {"app_name": app_name, "user_id": user_id, "filename": filename, "session_id": session_id}
        numbers = await self.list_versions(**where)
        versions = await each(numbers, lambda number: self.get_artifact_version(**where, version=number))
        return [version for version in versions if version is not None]

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session's artifacts; the records first, so that no record is left without its data."""
        folder = Owner(app_name, user_id, session_id).folder(self._prefix)
        for room in (ARTIFACTS, DATA):
            await self._bucket.delete([entry.key for entry in await self._bucket.entries(folder + room)])

    async def delete_version(
        self, *, app_name: str, user_id: str, filename: str, version: int, session_id: str | None = None
    ) -> None:
        """Delete one version."""
        place = self._place(app_name, user_id, session_id, filename)
        await self._delete([place.records + number_key(version)])

    async def stored(self, *, app_name: str) -> list[StoredVersion]:
        """Every version of an app's artifacts; each record is read, some at a time."""
        entries = await self._bucket.entries(f"{self._prefix}{named(app_name)}/")
        keys = [entry.key for entry in entries if _is_record(entry.key)]
        return [
            StoredVersion(one["user_id"], one["session_id"], one["filename"], number, one["create_time"])
            for key, one in zip(keys, await each(keys, self._read), strict=True)
            if one is not None and (number := version_of(key)) is not None
        ]

    async def incomplete_writes(self, *, app_name: str, before: float, delete: bool) -> list[str]:
        """Data without a record, and uploads that were never completed.

        A record is written after its data, but is listed before it, so a listing may miss a new record. Then its data
        is younger than `before`, or a second listing shows the record.
        """
        folder = f"{self._prefix}{named(app_name)}/"
        entries = await self._bucket.entries(folder)
        old = {entry.key for entry in entries if entry.modified < before and f"/{DATA}" in entry.key}
        if old:
            record_keys = [entry.key for entry in await self._bucket.entries(folder) if _is_record(entry.key)]
            records = await each(record_keys, self._read)
            old -= {record["data"] for record in records if record is not None}
        if delete:
            await self._bucket.delete(sorted(old))
        uploads = await self._bucket.unfinished(folder, before, delete=delete)
        return [self._bucket.uri(key) for key in (*sorted(old), *uploads)]

    async def close(self) -> None:
        """Close the connections; the next call opens others."""
        await self._bucket.close()

    def _place(self, app_name: str, user_id: str, session_id: str | None, filename: str) -> _Place:
        owner = Owner(app_name, user_id, scope_of(filename, session_id))
        return _Place(owner, owner.folder(self._prefix), filename)

    async def _take_number(self, place: _Place, record: bytes, id_: str) -> int:
        number = await self._latest(place.records) + 1
        while True:
            key = place.records + number_key(number)
            try:
                await self._bucket.put_new(key, record, _JSON)
                return number
            except KeyExistsError as error:
                mine = await self._read(key) if error.was_retried else None
                if mine is not None and mine["id"] == id_:
                    return number
            number = max(number, await self._latest(place.records)) + 1

    async def _latest(self, records: str) -> int:
        """The latest version, or -1; a listing begins with it."""
        return max(_versions(entry.key for entry in await self._bucket.entries(records, 1)), default=-1)

    async def _record(self, place: _Place, version: int | None) -> Json | None:
        """The record of a version (the latest if None), with its number."""
        number = await self._latest(place.records) if version is None else version
        if number < 0:
            return None
        record = await self._read(place.records + number_key(number))
        return None if record is None else {**record, "version": number}

    async def _read(self, key: str) -> Json | None:
        data = await self._bucket.get(key)
        if data is None:
            return None
        try:
            record: Json = json.loads(data)
            record["id"], record["data"], record["part"]  # raises if one is missing: then it is not a record
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{self._bucket.uri(key)} is damaged: {type(error).__name__} {error}") from None
        return record

    async def _names(self, folder: str) -> list[str]:
        segments = await self._bucket.folders(folder)
        names = [name for segment in segments if (name := filename_of(segment)) is not None]
        long = [segment for segment in segments if filename_of(segment) is None]
        for entries in await each(long, lambda segment: self._bucket.entries(f"{folder}{segment}/", 1)):
            record = await self._read(entries[0].key) if entries else None
            names += [record["filename"]] if record is not None else []
        return names

    async def _delete(self, keys: Sequence[str]) -> None:
        """Delete records, then their data."""
        records = await each(keys, self._read)
        await self._bucket.delete(keys)
        await self._bucket.delete([record["data"] for record in records if record is not None and record["data"]])


def _versions(keys: object) -> list[int]:
    return [number for key in keys if (number := version_of(key)) is not None]  # type: ignore[attr-defined]


def _is_record(key: str) -> bool:
    return f"/{ARTIFACTS}" in key and version_of(key) is not None


def _split(part: Part) -> tuple[Part, bytes | None]:
    """A part without the data that is stored as a separate object, and that data."""
    if part.inline_data is not None:
        blob = part.inline_data.model_copy(update={"data": None})
        return part.model_copy(update={"inline_data": blob}), part.inline_data.data or b""
    if part.text is not None:
        return part.model_copy(update={"text": ""}), part.text.encode()
    return part, None


def _joined(shell: Part, data: bytes) -> Part:
    """Undo `_split`."""
    if shell.inline_data is not None:
        shell.inline_data.data = data
    elif shell.text is not None:
        shell.text = data.decode()
    return shell


def _content_type(part: Part) -> str:
    """The type of an object, fit for a header."""
    type_ = mime_type(part) or _BINARY
    plain = type_.isascii() and type_.isprintable() and type_ == type_.strip() and len(type_) <= 200
    return type_ if plain else _BINARY
