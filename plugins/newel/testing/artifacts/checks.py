"""The checks of a store of artifacts: numbers, parts, names, scopes, and what is deleted."""

from __future__ import annotations

import asyncio

from newel.artifacts.stored_part import withdrawn
from newel.testing.artifacts.place import ArtifactPlace, binary
from newel.testing.sessions.place import refused, same
from newel_kernel import ConfigurationError
from newel_types import Blob, FileData, FunctionCall, Part

_FAR = 4e9
_NAMES = (
    "a.txt",
    "dir/sub/a.txt",
    "ä ö.txt",
    ".hidden",
    "CON",
    "a..b",
    "x" * 1000,
    "語" * 1000,
    "a:b",
    "%2e",
    "\u202ea",
    "A.txt",
    "\xe9",
    "e\u0301",
    "'; DROP TABLE artifacts; --",
)
_REFUSED = (
    "",
    " ",
    "user:",
    "/etc/passwd",
    "\\x",
    "C:\\x",
    "..",
    "../x",
    "a/../../x",
    "a\\..\\x",
    "a//b",
    "a/",
    "./a",
    "a\x00b",
    "a\nb",
    "user:../x",
    "user:/x",
    "x" * 2000,
    "a\ud800",
)
_IDS = (
    "../../x",
    "/etc",
    "a\x00b",
    "..",
    "語" * 250,
    "a/b",
    "a%2Fb",
    "A",
    "a",
    "a//b",
    "./a",
    ".",
    "\xe9",
    "e\u0301",
    " a",
)
_METADATA = {"by": "ada", "n": 2**70, "f": 0.1 + 0.2, "none": None, "deep": [{"ä\x00": [True]}]}


async def versions_count_from_zero(place: ArtifactPlace) -> None:
    """Each save gets the next number; None means the latest."""
    store, where = place.service(), place.at()
    same(await store.list_versions(**where, filename="a"), [])
    same(await store.load_artifact(**where, filename="a"), None)
    for number, text in enumerate(("one", "two", "three")):
        same(await store.save_artifact(**where, filename="a", artifact=Part(text=text)), number)
    same(await store.list_versions(**where, filename="a"), [0, 1, 2])
    loaded = [await store.load_artifact(**where, filename="a", version=version) for version in (None, 0, 1, 3, -1)]
    same([part and part.text for part in loaded], ["three", "one", "two", None, None])


async def a_part_comes_back_as_it_was(place: ArtifactPlace) -> None:
    """Texts, data and addresses, with their metadata; a dict is accepted as a part."""
    store, where = place.service(), place.at()
    file = FileData(file_uri="gs://b/x.pdf", mime_type="application/pdf")
    parts = (
        (Part(text="text ä\n"), "text/plain"),
        (binary(bytes(range(256)) * 1000), "image/png"),
        (Part(file_data=file), "application/pdf"),
    )
    for number, (part, mime_type) in enumerate(parts):
        await store.save_artifact(**where, filename="a", artifact=part, custom_metadata=_METADATA)
        same(await store.load_artifact(**where, filename="a"), part)
        entry = await store.get_artifact_version(**where, filename="a")
        assert entry is not None, "a version that was saved has no metadata"
        same((entry.version, entry.mime_type, entry.custom_metadata), (number, mime_type, _METADATA))
        assert entry.create_time > 1e9, f"{entry.create_time} is not a time of today"
        assert ":/" in entry.canonical_uri, f"{entry.canonical_uri!r} is not an address"
    listed = await store.list_artifact_versions(**where, filename="a")
    same(listed, [await store.get_artifact_version(**where, filename="a", version=number) for number in range(3)])
    same(await store.get_artifact_version(**where, filename="a", version=3), None)
    data = {"inlineData": {"mimeType": "x/y", "data": "aGk="}}
    await store.save_artifact(**where, filename="dict", artifact=data)  # type: ignore[arg-type]
    loaded = await store.load_artifact(**where, filename="dict")
    same(loaded and loaded.inline_data and loaded.inline_data.data, b"hi")


async def a_large_artifact_comes_back(place: ArtifactPlace) -> None:
    """Even one that is uploaded and downloaded in parts."""
    store, where = place.service(), place.at()
    for part in (binary(bytes(range(251)) * 80_000), Part(text="ä" * 5_000_000)):
        number = await store.save_artifact(**where, filename="a", artifact=part)
        assert await store.load_artifact(**where, filename="a", version=number) == part, "a large one came back changed"


async def parts_are_the_callers(place: ArtifactPlace) -> None:
    """A part that was saved or loaded can be changed without changing the store."""
    store, where = place.service(), place.at()
    part = Part(text="kept")
    await store.save_artifact(**where, filename="a", artifact=part)
    part.text = "changed"
    loaded = await store.load_artifact(**where, filename="a")
    assert loaded is not None
    loaded.text = "changed"
    same(await store.load_artifact(**where, filename="a"), Part(text="kept"))


async def a_withdrawn_version_is_no_artifact(place: ArtifactPlace) -> None:
    """A rewind saves such a version if an artifact did not exist."""
    store, where = place.service(), place.at()
    await store.save_artifact(**where, filename="a", artifact=Part(text="x"))
    await store.save_artifact(**where, filename="a", artifact=withdrawn())
    same(await store.load_artifact(**where, filename="a"), None)


async def an_empty_artifact_comes_back(place: ArtifactPlace) -> None:
    """An empty text, and an empty file."""
    store, where = place.service(), place.at()
    for part in (Part(text=""), Part(inline_data=Blob(mime_type="text/csv", data=b""))):
        await store.save_artifact(**where, filename="a", artifact=part)
        same(await store.load_artifact(**where, filename="a"), part)


async def what_cannot_be_kept_is_refused(place: ArtifactPlace) -> None:
    """A part without content, or metadata without a JSON form, is refused before anything is written."""
    store, where = place.service(), place.at()
    for part in (Part(), Part(function_call=FunctionCall(name="f"))):
        await refused(store.save_artifact(**where, filename="a", artifact=part), ConfigurationError)
    for value in (object(), float("nan"), "\ud800", 10**5001):
        call = store.save_artifact(**where, filename="a", artifact=Part(text="x"), custom_metadata={"a": value})
        await refused(call, ConfigurationError)
    same(await store.list_artifact_keys(**where), [])


async def names_that_lead_elsewhere_are_refused(place: ArtifactPlace) -> None:
    """For reading as for writing."""
    store, where = place.service(), place.at()
    for name in _REFUSED:
        await refused(store.save_artifact(**where, filename=name, artifact=Part(text="x")), ConfigurationError)
        await refused(store.load_artifact(**where, filename=name), ConfigurationError)
    same(await store.stored(app_name=place.app), [])


async def any_other_name_will_do(place: ArtifactPlace) -> None:
    """And no name is taken for another."""
    store, where = place.service(), place.at()
    for name in _NAMES:
        await store.save_artifact(**where, filename=name, artifact=Part(text=name))
    same(await store.list_artifact_keys(**where), sorted(_NAMES))
    for name in _NAMES:
        same(await store.load_artifact(**where, filename=name), Part(text=name))


async def ids_are_data(place: ArtifactPlace) -> None:
    """No user or session is taken for another, nor one named "user" for the user."""
    store = place.service()
    owners = [place.at(id_) for id_ in (*_IDS, "user")] + [place.at("s", id_) for id_ in _IDS]
    for number, where in enumerate(owners):
        await store.save_artifact(**where, filename="x", artifact=Part(text=f"{number}"))
    for number, where in enumerate(owners):
        same(await store.load_artifact(**where, filename="x"), Part(text=f"{number}"))
        same(await store.list_artifact_keys(**where), ["x"])
    same(await store.list_artifact_keys(**place.at()), [])


async def scopes_do_not_mix(place: ArtifactPlace) -> None:
    """``user:`` belongs to all sessions of a user, anything else to one session."""
    store, where, user = place.service(), place.at(), place.at(None)
    await store.save_artifact(**where, filename="b", artifact=Part(text="session"))
    await store.save_artifact(**where, filename="user:a/b", artifact=Part(text="user"))
    same(await store.list_artifact_keys(**where), ["b", "user:a/b"])
    for other in (place.at("s2"), user):
        same(await store.list_artifact_keys(**other), ["user:a/b"])
        same(await store.load_artifact(**other, filename="user:a/b"), Part(text="user"))
    same(await store.load_artifact(**place.at("s2"), filename="b"), None)
    same(await store.list_artifact_keys(**place.at("s", "v")), [])
    same(await store.list_artifact_keys(**{**where, "app_name": f"{place.app}-2"}), [])
    await refused(store.load_artifact(**user, filename="b"), ConfigurationError)


async def deleting_takes_every_version(place: ArtifactPlace) -> None:
    """And nothing else; deleting an unknown name does nothing."""
    store, where = place.service(), place.at()
    for name in ("a", "a", "b"):
        await store.save_artifact(**where, filename=name, artifact=Part(text="x"))
    await store.delete_artifact(**where, filename="a")
    await store.delete_artifact(**where, filename="never")
    same(await store.list_artifact_keys(**where), ["b"])
    same(await store.list_versions(**where, filename="a"), [])
    same(await store.save_artifact(**where, filename="a", artifact=Part(text="x")), 0)


async def one_version_is_deleted(place: ArtifactPlace) -> None:
    """The others keep their numbers; `stored` names those that are left."""
    store, where = place.service(), place.at()
    for name in ("a", "a", "a", "user:b"):
        await store.save_artifact(**where, filename=name, artifact=Part(text=name))
    await store.delete_version(**where, filename="a", version=1)
    await store.delete_version(**where, filename="a", version=7)
    same(await store.list_versions(**where, filename="a"), [0, 2])
    same(await store.load_artifact(**where, filename="a", version=1), None)
    same(await store.save_artifact(**where, filename="a", artifact=Part(text="x")), 3)
    addresses = sorted((one.filename, one.version, one.session_id) for one in await store.stored(app_name=place.app))
    same(addresses, [("a", 0, "s"), ("a", 2, "s"), ("a", 3, "s"), ("user:b", 0, None)])
    await store.delete_version(**where, filename="user:b", version=0)
    same(await store.list_artifact_keys(**where), ["a"])
    same(await store.incomplete_writes(app_name=place.app, before=_FAR, delete=False), [])


async def a_session_goes_with_its_artifacts(place: ArtifactPlace) -> None:
    """Its user's artifacts stay, and so do those of a session whose id begins alike."""
    store, where, other = place.service(), place.at(), place.at("s1")
    for one in (where, other):
        for name in ("a", "a", "user:b", "x" * 1000):
            await store.save_artifact(**one, filename=name, artifact=Part(text="x"))
    await store.delete_session(**where)
    await store.delete_session(**place.at("never"))
    same(await store.list_artifact_keys(**where), ["user:b"])
    same(await store.list_artifact_keys(**other), ["a", "user:b", "x" * 1000])
    same(await store.incomplete_writes(app_name=place.app, before=_FAR, delete=False), [])


async def concurrent_saves_have_numbers_of_their_own(place: ArtifactPlace) -> None:
    """Within one service."""
    await _all_save(place, 1)


async def two_services_never_take_one_number(place: ArtifactPlace) -> None:
    """The second save takes the next number; each service loads what the other has saved."""
    await _all_save(place, 2)


async def _all_save(place: ArtifactPlace, services: int) -> None:
    stores, where = [place.service() for _ in range(services)], place.at()
    saves = [stores[n % services].save_artifact(**where, filename="a", artifact=Part(text=f"{n}")) for n in range(20)]
    numbers = await asyncio.gather(*saves)
    same(sorted(numbers), list(range(20)))
    for store in stores:
        same(await store.list_versions(**where, filename="a"), list(range(20)))
        for text, number in enumerate(numbers):
            same(await store.load_artifact(**where, filename="a", version=number), Part(text=f"{text}"))


CHECKS = {
    check.__name__: check
    for check in (
        versions_count_from_zero,
        a_part_comes_back_as_it_was,
        a_large_artifact_comes_back,
        parts_are_the_callers,
        a_withdrawn_version_is_no_artifact,
        an_empty_artifact_comes_back,
        what_cannot_be_kept_is_refused,
        names_that_lead_elsewhere_are_refused,
        any_other_name_will_do,
        ids_are_data,
        scopes_do_not_mix,
        deleting_takes_every_version,
        one_version_is_deleted,
        a_session_goes_with_its_artifacts,
        concurrent_saves_have_numbers_of_their_own,
    )
}
SHARED_CHECKS = {two_services_never_take_one_number.__name__: two_services_never_take_one_number}
