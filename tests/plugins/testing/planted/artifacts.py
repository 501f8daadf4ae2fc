"""Planted bugs of stores of artifacts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from tests.plugins.testing.planted import Bugs

from newel.artifacts import FileArtifactService, InMemoryArtifactService
from newel.artifacts.base_artifact_service import ArtifactVersion
from newel.artifacts.contract import StoredVersion
from newel.artifacts.stored_part import as_part
from newel_types import Part

IN_MEMORY, IN_FILES = Bugs(), Bugs()
Memory, Files = InMemoryArtifactService, FileArtifactService


@IN_MEMORY.caught_by("versions_count_from_zero")
class CountsFromOne(Memory):
    async def save_artifact(self, **where: Any) -> int:
        return await super().save_artifact(**where) + 1


@IN_MEMORY.caught_by("versions_are_numbers")
class SortsVersionsAsText(Memory):
    async def list_versions(self, **where: Any) -> list[int]:
        return sorted(await super().list_versions(**where), key=str)


@IN_MEMORY.caught_by("versions_are_numbers")
class GivesTheTimeOfTheReading(Memory):
    async def get_artifact_version(self, **where: Any) -> ArtifactVersion | None:
        entry = await super().get_artifact_version(**where)
        return entry and ArtifactVersion.model_validate(entry.model_dump(exclude={"create_time"}))


@IN_MEMORY.caught_by("parts_are_the_callers")
class SharesParts(Memory):
    async def load_artifact(self, *, version: int | None = None, **where: Any) -> Part | None:
        entry = self._entry(
            self._key(where["app_name"], where["user_id"], where["session_id"], where["filename"]), version
        )
        return entry[0] if entry is not None else None


@IN_MEMORY.caught_by("metadata_is_the_callers")
class SharesMetadata(Memory):
    async def get_artifact_version(self, *, version: int | None = None, **where: Any) -> ArtifactVersion | None:
        entry = self._entry(
            self._key(where["app_name"], where["user_id"], where["session_id"], where["filename"]), version
        )
        return entry[1] if entry is not None else None


@IN_MEMORY.caught_by("a_part_comes_back_as_it_was")
class LosesTheDisplayName(Memory):
    async def save_artifact(self, *, artifact: Any, **where: Any) -> int:
        part = as_part(artifact)
        if part.inline_data is not None:
            part.inline_data.display_name = None
        return await super().save_artifact(artifact=part, **where)


@IN_MEMORY.caught_by("every_field_of_a_part_comes_back")
class LosesPartMetadata(Memory):
    async def save_artifact(self, *, artifact: Any, **where: Any) -> int:
        part = as_part(artifact)
        part.part_metadata = None
        return await super().save_artifact(artifact=part, **where)


@IN_MEMORY.caught_by("an_empty_artifact_comes_back")
class TakesEmptyForNothing(Memory):
    async def load_artifact(self, **where: Any) -> Part | None:
        part = await super().load_artifact(**where)
        return part if part and (part.text or part.file_data or (part.inline_data and part.inline_data.data)) else None


@IN_MEMORY.caught_by("a_session_goes_with_its_artifacts")
class LosesTheUsers(Memory):
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        for key in [key for key in self._versions if key[:2] == (app_name, user_id) and key[2] in (None, session_id)]:
            del self._versions[key]


@IN_MEMORY.caught_by("a_session_goes_with_its_artifacts")
class DeletesWhatBeginsAlike(Memory):
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        for key in [k for k in self._versions if k[:2] == (app_name, user_id) and (k[2] or "").startswith(session_id)]:
            del self._versions[key]


@IN_MEMORY.caught_by("a_users_artifact_is_one")
class CountsForEachSession(Memory):
    """A user's artifact is kept by the session that saved it; another session finds the last one."""

    async def save_artifact(self, *, session_id: str | None = None, **where: Any) -> int:
        self._saves = getattr(self, "_saves", {})
        key = (where["app_name"], where["user_id"], session_id, where["filename"])
        self._saves[key] = self._saves.get(key, -1) + 1
        await super().save_artifact(session_id=session_id, **where)
        return int(self._saves[key])


@IN_MEMORY.caught_by("apps_are_apart")
class StoresOfEveryApp(Memory):
    async def stored(self, *, app_name: str) -> list[StoredVersion]:
        apps = {key[0] for key in self._versions if key[0].startswith(app_name)}
        return [one for app in apps for one in await super(StoresOfEveryApp, self).stored(app_name=app)]


@IN_MEMORY.caught_by("ids_are_data")
class TakesIdsForPaths(Memory):
    @staticmethod
    def _key(app_name: str, user_id: str, session_id: str | None, filename: str) -> Any:
        key = Memory._key(app_name, user_id, session_id, filename)
        return (*key[:2], key[2] and os.path.normpath(key[2]), key[3])

    async def save_artifact(self, *, session_id: str | None = None, **where: Any) -> int:
        return await super().save_artifact(session_id=session_id and os.path.normpath(session_id), **where)


@IN_MEMORY.caught_by("one_version_is_deleted")
class DeletesThoseBefore(Memory):
    async def delete_version(self, *, version: int, **where: Any) -> None:
        for number in range(version + 1):
            await super().delete_version(version=number, **where)


@IN_MEMORY.caught_by("a_cancelled_save_is_whole")
class NamesAVersionBeforeItIsThere(Memory):
    async def save_artifact(self, *, artifact: Any, **where: Any) -> int:
        part = as_part(artifact)
        number = await super().save_artifact(artifact=Part(text="coming"), **where)
        await asyncio.sleep(0)
        entries = self._versions[self._key(where["app_name"], where["user_id"], where["session_id"], where["filename"])]
        entries[number] = part, entries[number][1]
        return number


@IN_FILES.caught_by("concurrent_saves_have_numbers_of_their_own")
class ChecksThenTakesANumber(Files):
    def _take_number(self, folder: Path, new: Path) -> int:
        number = super()._take_number(folder, new)
        return min(number, 7)


@IN_FILES.caught_by("two_services_never_take_one_number")
class CountsInItsService(Files):
    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self._counts: dict[Path, int] = {}

    def _take_number(self, folder: Path, new: Path) -> int:
        super()._take_number(folder, new)
        self._counts[folder] = self._counts.get(folder, -1) + 1
        return self._counts[folder]


@IN_FILES.caught_by("a_kill_leaves_a_whole_version")
class WritesInPlace(Files):
    """The metadata is written once the version has its place."""

    def _save(self, folder: Path, part: Part, metadata: Any) -> int:
        number = super()._save(folder, part, metadata)
        file = folder / str(number) / "artifact.json"
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(data)
        return number


@IN_FILES.caught_by("names_that_lead_elsewhere_are_refused")
class ReadsAnyName(Files):
    async def load_artifact(self, *, filename: str, **where: Any) -> Part | None:
        return await super().load_artifact(filename=filename.replace("/", "_").replace("..", "_") or "_", **where)
