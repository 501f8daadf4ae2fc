"""Checks of saves: all of a part, long histories, who owns what, a cancellation or a crash in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import count
from typing import Any

from newel.artifacts.contract import ArtifactStore
from newel.testing.artifacts.place import ArtifactPlace, MakeArtifactStore
from newel.testing.interruptions import cancelled_at_each_await
from newel.testing.processes import Kills, forked
from newel.testing.sessions.place import same
from newel_types import Part

_FAR = 4e9
#: At how many places of a save a process is killed at most.
_KILLS = 40
_FIELDS: tuple[dict[str, Any], ...] = (
    {"text": "why", "thought": True, "thoughtSignature": "AP8="},
    {"text": "x", "partMetadata": {"a": [None, 2**70]}},
    {"inlineData": {"mimeType": "video/mp4", "data": "AAEC_w==", "displayName": "ä.mp4"}, "videoMetadata": {"fps": 2}},
    {"inlineData": {"mimeType": "x/y", "data": "AAEC_w=="}, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}},
    {"fileData": {"fileUri": "gs://b/x", "mimeType": "a/b", "displayName": "d"}},
)


async def every_field_of_a_part_comes_back(place: ArtifactPlace) -> None:
    """Also those that say nothing about the content."""
    store, where = place.service(), place.at()
    for number, fields in enumerate(_FIELDS):
        part = Part.model_validate(fields)
        await store.save_artifact(**where, filename="a", artifact=part)
        for version in (None, number):
            loaded = await store.load_artifact(**where, filename="a", version=version)
            same(loaded and loaded.model_dump(mode="json"), part.model_dump(mode="json"))


async def versions_are_numbers(place: ArtifactPlace) -> None:
    """The eleventh follows the tenth, in lists and as the latest; each keeps its time and its metadata."""
    store, where = place.service(), place.at()
    for number in range(12):
        part = Part(text=f"{number}")
        await store.save_artifact(**where, filename="a", artifact=part, custom_metadata={"n": number})
    same(await store.list_versions(**where, filename="a"), list(range(12)))
    same(await store.load_artifact(**where, filename="a"), Part(text="11"))
    latest = await store.get_artifact_version(**where, filename="a")
    same(latest and (latest.version, latest.custom_metadata), (11, {"n": 11}))
    listed = await store.list_artifact_versions(**where, filename="a")
    same([(one.version, one.custom_metadata) for one in listed], [(n, {"n": n}) for n in range(12)])
    times = {one.version: one.create_time for one in await store.stored(app_name=place.app)}
    same({one.version: one.create_time for one in listed}, times)
    assert sorted(times.values()) == [times[number] for number in range(12)], "a later version has an earlier time"
    await store.delete_version(**where, filename="a", version=11)
    same(await store.load_artifact(**where, filename="a"), Part(text="10"))


async def metadata_is_the_callers(place: ArtifactPlace) -> None:
    """Metadata that was saved or read can be changed without changing the store."""
    store, where = place.service(), place.at()
    metadata = {"l": [1]}
    await store.save_artifact(**where, filename="a", artifact=Part(text="x"), custom_metadata=metadata)
    metadata["l"].append(2)
    got = await store.get_artifact_version(**where, filename="a")
    assert got is not None
    got.custom_metadata["l"].append(3)
    again = await store.get_artifact_version(**where, filename="a")
    same(again and again.custom_metadata, {"l": [1]})


async def a_users_artifact_is_one(place: ArtifactPlace) -> None:
    """Whichever session saves it: one row of versions, deleted for all of the user's sessions, and no other user's."""
    store = place.service()
    for number, where in enumerate((place.at("s"), place.at("t"), place.at(None))):
        same(await store.save_artifact(**where, filename="user:a", artifact=Part(text=f"{number}")), number)
    await store.save_artifact(**place.at("s", "v"), filename="user:a", artifact=Part(text="of v"))
    await store.save_artifact(**place.at(), filename="a", artifact=Part(text="of the session"))
    await store.delete_artifact(**place.at("t"), filename="user:a")
    same(await store.load_artifact(**place.at("s"), filename="user:a"), None)
    same(await store.load_artifact(**place.at("s", "v"), filename="user:a"), Part(text="of v"))
    same(await store.load_artifact(**place.at(), filename="a"), Part(text="of the session"))


async def apps_are_apart(place: ArtifactPlace) -> None:
    """What one app saves, lists and deletes is not another's, even if its name begins alike."""
    store, where = place.service(), place.at()
    other = {**where, "app_name": f"{place.app}-2"}
    for one in (where, other):
        for name in ("a", "user:b"):
            await store.save_artifact(**one, filename=name, artifact=Part(text=one["app_name"]))
    same(len(await store.stored(app_name=place.app)), 2)
    for name in ("a", "user:b"):
        await store.delete_artifact(**where, filename=name)
    same((await store.stored(app_name=place.app), await store.list_artifact_keys(**where)), ([], []))
    for name in ("a", "user:b"):
        same(await store.load_artifact(**other, filename=name), Part(text=f"{place.app}-2"))


async def _listed(store: ArtifactStore, where: dict[str, Any]) -> Sequence[int]:
    """The versions, which must be there if the name is. What was cancelled may come while one looks."""
    numbers: Sequence[int] | None = None
    while (again := await store.list_versions(**where, filename="a")) != numbers:
        numbers, keys = again, await store.list_artifact_keys(**where)
    same(keys, ["a"] if numbers else [])
    return again


async def _whole(store: ArtifactStore, where: dict[str, Any]) -> list[str]:
    """The texts of all versions, each of which must have its metadata."""
    texts = []
    for number in await _listed(store, where):
        part = await store.load_artifact(**where, filename="a", version=number)
        entry = await store.get_artifact_version(**where, filename="a", version=number)
        assert part is not None, f"version {number} is listed, and cannot be loaded"
        assert entry is not None, f"version {number} is listed, and has no metadata"
        data = part.inline_data.data if part.inline_data is not None else None
        assert data, f"version {number} is not whole"
        name = data[:1].hex()
        same((data, entry.custom_metadata), (data[:1] * len(_data(0)), {"of": name}))
        texts.append(name)
    return texts


def _data(number: int) -> bytes:
    return bytes([number]) * 300_000


def _save(store: ArtifactStore, where: dict[str, Any], number: int) -> Coroutine[Any, Any, int]:
    part = Part.model_validate({"inlineData": {"mimeType": "x/y", "data": _data(number)}})
    return store.save_artifact(**where, filename="a", artifact=part, custom_metadata={"of": bytes([number]).hex()})


async def a_cancelled_save_is_whole(place: ArtifactPlace) -> None:
    """Wherever the cancellation comes: a version with its metadata, or nothing."""
    store, where = place.service(), place.at()
    numbers = count()
    last = -1
    async for task in cancelled_at_each_await(lambda: _save(store, where, next(numbers))):
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        await _whole(store, where)
        last = -1 if task.cancelled() else task.result()
    loaded = await store.load_artifact(**where, filename="a", version=last)  # a cancelled one may still come after it
    same(loaded and loaded.inline_data and loaded.inline_data.data, _data(next(numbers) - 1))


def a_kill_leaves_a_whole_version(make: MakeArtifactStore, app: str) -> None:
    """A version with its metadata, or leftovers that `incomplete_writes` deletes; what was acknowledged is there."""
    for at in range(_KILLS):
        ended, acknowledged = forked(partial(_saving, make, app, at)).result()
        asyncio.run(_look_after(make, app, at, bool(acknowledged)))
        if ended:
            return


async def _saving(make: MakeArtifactStore, app: str, at: int, report: Callable[[str], None]) -> None:
    """In its own process: save a version, killed at the `at`-th place."""
    place = ArtifactPlace(make, app)
    await Kills(at).during(_save(place.service(), place.at(), at))
    report("acknowledged")
    await place.close()


async def _look_after(make: MakeArtifactStore, app: str, at: int, acknowledged: bool) -> None:
    place = ArtifactPlace(make, app)
    try:
        store, where = place.service(), place.at()
        found = await _whole(store, where)
        assert not acknowledged or bytes([at]).hex() in found, "an acknowledged version is lost after a kill"
        await store.incomplete_writes(app_name=app, before=_FAR, delete=True)
        same(await _whole(store, where), found)
        same(await store.incomplete_writes(app_name=app, before=_FAR, delete=True), [])
        assert await _save(store, where, 255) not in (await store.list_versions(**where, filename="a"))[:-1]
        await store.delete_artifact(**where, filename="a")
        same(await _whole(store, where), [])
    finally:
        await place.close()


SAVE_CHECKS = {
    check.__name__: check
    for check in (
        every_field_of_a_part_comes_back,
        versions_are_numbers,
        metadata_is_the_callers,
        a_users_artifact_is_one,
        apps_are_apart,
        a_cancelled_save_is_whole,
    )
}
PROCESS_CHECKS = {a_kill_leaves_a_whole_version.__name__: a_kill_leaves_a_whole_version}
