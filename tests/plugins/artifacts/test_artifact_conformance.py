"""What every store of artifacts does alike."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent
from newel.artifacts import ArtifactStore, InMemoryArtifactService
from newel.artifacts.base_artifact_service import BaseArtifactService
from newel.artifacts.kinds import ArtifactBackend
from newel.artifacts.stored_part import scope_of
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, EventActions
from newel_types import Blob, FileData, FunctionCall, Part

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}
USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}


def png(data: bytes = b"\x89PNG\x00") -> Part:
    return Part(inline_data=Blob(mime_type="image/png", data=data, display_name="p.png"))


def test_versions_count_from_zero(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        assert await store.list_versions(**WHERE, filename="a.txt") == []
        assert await store.load_artifact(**WHERE, filename="a.txt") is None
        for number, text in enumerate(("one", "two", "three")):
            assert await store.save_artifact(**WHERE, filename="a.txt", artifact=Part(text=text)) == number
        assert await store.list_versions(**WHERE, filename="a.txt") == [0, 1, 2]
        loaded = [await store.load_artifact(**WHERE, filename="a.txt", version=v) for v in (None, 0, 1, 3, -1)]
        assert [part and part.text for part in loaded] == ["three", "one", "two", None, None]

    check(main)


@pytest.mark.parametrize(
    ("part", "mime_type"),
    [
        (Part(text="text ä\n"), "text/plain"),
        (png(), "image/png"),
        (png(bytes(range(256)) * 1000), "image/png"),
        (Part(file_data=FileData(file_uri="gs://b/x.pdf", mime_type="application/pdf")), "application/pdf"),
    ],
)
def test_a_part_comes_back_as_it_was(part: Part, mime_type: str, check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        await store.save_artifact(**WHERE, filename="a", artifact=part, custom_metadata={"by": "ada"})
        loaded = await store.load_artifact(**WHERE, filename="a")
        assert loaded == part
        latest = await store.get_artifact_version(**WHERE, filename="a")
        assert latest is not None
        assert (latest.version, latest.mime_type, latest.custom_metadata) == (0, mime_type, {"by": "ada"})
        assert latest.create_time > 1e9
        assert ":/" in latest.canonical_uri
        assert await store.get_artifact_version(**WHERE, filename="a", version=1) is None
        assert await store.list_artifact_versions(**WHERE, filename="a") == [latest]

    check(main)


def test_what_is_loaded_belongs_to_the_caller(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        part = Part(text="kept")
        await store.save_artifact(**WHERE, filename="a", artifact=part)
        part.text = "changed"
        loaded = await store.load_artifact(**WHERE, filename="a")
        assert loaded is not None
        loaded.text = "changed"
        again = await store.load_artifact(**WHERE, filename="a")
        assert again is not None
        assert again.text == "kept"

    check(main)


def test_a_dict_is_taken_for_a_part(check: Any) -> None:
    async def main(store: Any) -> None:
        await store.save_artifact(**WHERE, filename="a", artifact={"inlineData": {"mimeType": "x/y", "data": "aGk="}})
        assert (await store.load_artifact(**WHERE, filename="a")).inline_data.data == b"hi"

    check(main)


def test_scopes_do_not_mix(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        await store.save_artifact(**WHERE, filename="b", artifact=Part(text="session"))
        await store.save_artifact(**WHERE, filename="user:a/b", artifact=Part(text="user"))
        other = {**WHERE, "session_id": "s2"}
        assert await store.list_artifact_keys(**WHERE) == ["b", "user:a/b"]
        assert await store.list_artifact_keys(**other) == ["user:a/b"]
        assert await store.list_artifact_keys(**USER) == ["user:a/b"]
        assert await store.list_artifact_keys(**{**WHERE, "user_id": "bob"}) == []
        assert await store.list_artifact_keys(**{**WHERE, "app_name": "shop"}) == []
        shared = await store.load_artifact(**other, filename="user:a/b")
        assert shared is not None
        assert shared.text == "user"
        assert await store.load_artifact(**other, filename="b") is None
        with pytest.raises(ConfigurationError, match="session_id"):
            await store.load_artifact(**USER, filename="b")

    check(main)


def test_a_session_is_never_taken_for_the_user(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        await store.save_artifact(**{**WHERE, "session_id": "user"}, filename="mine", artifact=Part(text="x"))
        assert await store.list_artifact_keys(**WHERE) == []

    check(main)


def test_deleting_takes_every_version(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        for name in ("a", "a", "b"):
            await store.save_artifact(**WHERE, filename=name, artifact=Part(text="x"))
        await store.delete_artifact(**WHERE, filename="a")
        await store.delete_artifact(**WHERE, filename="never")
        assert await store.list_artifact_keys(**WHERE) == ["b"]
        assert await store.list_versions(**WHERE, filename="a") == []
        assert await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x")) == 0

    check(main)


def test_a_blank_version_is_no_artifact(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        for part in (png(b""), Part(text="")):
            await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"))
            await store.save_artifact(**WHERE, filename="a", artifact=part)
            assert await store.load_artifact(**WHERE, filename="a") is None

    check(main)


@pytest.mark.parametrize("part", [Part(), Part(function_call=FunctionCall(name="f"))])
def test_what_is_no_artifact_is_refused(part: Part, check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        with pytest.raises(ConfigurationError, match="inline_data, text or file_data"):
            await store.save_artifact(**WHERE, filename="a", artifact=part)

    check(main)


@pytest.mark.parametrize(
    "name",
    ["", " ", "user:", "/etc/passwd", "\\x", "C:\\x", "C:/x", "..", "../x", "a/../../x", "a\\..\\x", "a//b", "a/",
     "./a", "a\x00b", "a\nb", "user:../x", "user:/x", "x" * 2000, "a\ud800"],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(name: str, check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        with pytest.raises(ConfigurationError, match="cannot be used"):
            await store.save_artifact(**WHERE, filename=name, artifact=Part(text="x"))
        with pytest.raises(ConfigurationError, match="cannot be used"):
            await store.load_artifact(**WHERE, filename=name)

    check(main)


NAMES = ["a.txt", "dir/sub/a.txt", "ä ö.txt", ".hidden", "CON", "a..b", "x" * 1000, "語" * 1000, "a:b",
         "%2e", "\u202ea"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_other_name_will_do(name: str, check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        await store.save_artifact(**WHERE, filename=name, artifact=Part(text="x"))
        await store.save_artifact(**WHERE, filename=name.swapcase() + "_", artifact=Part(text="other"))
        assert name in await store.list_artifact_keys(**WHERE)
        loaded = await store.load_artifact(**WHERE, filename=name)
        assert loaded is not None
        assert loaded.text == "x"

    check(main)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
METADATA = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6,
    ),
    max_size=4,
)  # fmt: skip


def acceptable(name: str) -> bool:
    try:
        return scope_of(name, "s1") is not None
    except ConfigurationError:
        return False


def test_names_bytes_and_metadata_come_back(check: Any) -> None:
    """Whatever they are: no name is taken for another, and nothing is changed on its way."""
    drawn: list[tuple[str, bytes, dict[str, Any]]] = []

    @seed(14)
    @settings(max_examples=25, database=None)
    @given(TEXTS.filter(acceptable), st.binary(max_size=300), METADATA)
    def draw(name: str, data: bytes, metadata: dict[str, Any]) -> None:
        drawn.append((name, data, metadata))

    async def main(store: ArtifactStore) -> None:
        latest: dict[str, tuple[bytes, dict[str, Any], int]] = {}
        for name, data, metadata in drawn:
            number = await store.save_artifact(**WHERE, filename=name, artifact=png(data), custom_metadata=metadata)
            assert number == (latest[name][2] + 1 if name in latest else 0)
            latest[name] = data, metadata, number
        assert await store.list_artifact_keys(**WHERE) == sorted(latest)
        for name, (data, metadata, number) in latest.items():
            loaded = await store.load_artifact(**WHERE, filename=name)
            assert loaded == (png(data) if data else None)
            version = await store.get_artifact_version(**WHERE, filename=name)
            assert version is not None
            assert (version.version, version.custom_metadata) == (number, metadata)
        stored = {(one.filename, one.session_id, one.user_id) for one in await store.stored(app_name="desk")}
        assert stored == {(name, "s1", "ada") for name in latest}

    draw()
    check(main)


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": float("nan")}, {"a": "\ud800"}, {"a": 10**5001}])
def test_metadata_that_cannot_be_kept_is_refused(metadata: dict[str, Any], check: Any) -> None:
    async def main(store: ArtifactStore) -> None:
        with pytest.raises(ConfigurationError, match="metadata"):
            await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"), custom_metadata=metadata)
        assert await store.list_artifact_keys(**WHERE) == []

    check(main)


@pytest.mark.parametrize("field", ["app_name", "user_id", "session_id"])
@pytest.mark.parametrize("value", ["../../x", "/etc", "a\x00b", "..", "語" * 250, "a/b", "a%2Fb"])
def test_no_id_is_taken_for_another(field: str, value: str, check: Any) -> None:
    async def main(store: ArtifactStore) -> None:
        where = {**WHERE, field: value}
        await store.save_artifact(**where, filename="x" * 1000, artifact=Part(text="x"))
        assert await store.load_artifact(**where, filename="x" * 1000) == Part(text="x")
        assert await store.list_artifact_keys(**WHERE) == []

    check(main)


def test_a_large_artifact_comes_back(check: Any) -> None:
    async def main(store: ArtifactStore) -> None:
        data = bytes(range(251)) * 80_000  # 20 MB, so that two bytes that are exchanged would show
        for part in (png(data), Part(text="ä" * 5_000_000)):
            number = await store.save_artifact(**WHERE, filename="a", artifact=part)
            assert await store.load_artifact(**WHERE, filename="a", version=number) == part

    check(main)


def test_a_session_is_deleted_with_its_artifacts(check: Any) -> None:
    async def main(store: ArtifactStore) -> None:
        other = {**WHERE, "session_id": "s11"}
        for where in (WHERE, other):
            for name in ("a", "a", "user:b", "x" * 1000):
                await store.save_artifact(**where, filename=name, artifact=Part(text="x"))
        await store.delete_session(**WHERE)
        await store.delete_session(**{**WHERE, "session_id": "never"})
        assert await store.list_artifact_keys(**WHERE) == ["user:b"]
        assert await store.list_artifact_keys(**other) == ["a", "user:b", "x" * 1000]
        assert await store.leftovers(app_name="desk", before=4e9, delete=False) == []

    check(main)


def test_one_version_is_deleted(check: Any) -> None:
    async def main(store: ArtifactStore) -> None:
        for name in ("a", "a", "a", "user:b"):
            await store.save_artifact(**WHERE, filename=name, artifact=Part(text=name))
        await store.delete_version(**WHERE, filename="a", version=1)
        await store.delete_version(**WHERE, filename="a", version=7)
        assert await store.list_versions(**WHERE, filename="a") == [0, 2]
        assert await store.load_artifact(**WHERE, filename="a", version=1) is None
        assert await store.load_artifact(**WHERE, filename="a") == Part(text="a")
        assert await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x")) == 3
        found = sorted((one.filename, one.version, one.session_id) for one in await store.stored(app_name="desk"))
        assert found == [("a", 0, "s1"), ("a", 2, "s1"), ("a", 3, "s1"), ("user:b", 0, None)]
        assert await store.stored(app_name="shop") == []
        await store.delete_version(**WHERE, filename="user:b", version=0)
        assert await store.list_artifact_keys(**WHERE) == ["a"]
        assert await store.leftovers(app_name="desk", before=4e9, delete=False) == []

    check(main)


def test_a_fork_takes_its_artifacts_along_or_there_is_none(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(store: ArtifactStore) -> None:
        sessions = InMemorySessionService()
        runner = Runner(
            app_name="desk", agent=LlmAgent(name="a"), session_service=sessions, artifact_service=store
        )  # fmt: skip
        session = await sessions.create_session(**WHERE)
        for number, part in enumerate((Part(text="one"), png(b"two"), png(b""))):
            await store.save_artifact(**WHERE, filename="a", artifact=part, custom_metadata={"n": number})
            if number:
                noted = EventActions(artifact_delta={"a": number})
                await sessions.append_event(session, Event(author="a", actions=noted))
        of = {"user_id": WHERE["user_id"], "session_id": WHERE["session_id"]}
        fork = {**WHERE, "session_id": (await runner.fork_session(**of)).id}
        await runner.delete_session(**of)
        assert await store.list_versions(**fork, filename="a") == [1, 2]
        assert await store.load_artifact(**fork, filename="a", version=1) == png(b"two")
        assert await store.load_artifact(**fork, filename="a") is None  # blank, as it was
        entry = await store.get_artifact_version(**fork, filename="a", version=1)
        assert entry is not None
        assert entry.custom_metadata == {"n": 1}

        async def failing(*_: Any, **__: Any) -> None:
            raise OSError("no room")

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "delete_version", failing)
            with pytest.raises(OSError, match="no room"):
                await runner.fork_session(user_id="ada", session_id=fork["session_id"], new_session_id="never")
        assert await sessions.get_session(**{**WHERE, "session_id": "never"}) is None
        assert {one.session_id for one in await store.stored(app_name="desk")} == {fork["session_id"]}

    check(main)


_WRITER = """
import asyncio, json, sys
from newel import artifacts
from newel_types import Part

async def main(name, options):
    store = getattr(artifacts, name)(**options)
    where = {"app_name": "desk", "user_id": "ada", "session_id": "s1", "filename": "a"}
    saves = [store.save_artifact(**where, artifact=Part(text=f"{sys.argv[3]}-{i}")) for i in range(10)]
    numbers = await asyncio.gather(*saves)
    print(json.dumps({number: f"{sys.argv[3]}-{i}" for i, number in enumerate(numbers)}))

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
"""


def test_two_processes_never_take_one_number(shared: tuple[type[ArtifactStore], dict[str, Any]]) -> None:
    made, options = shared
    command = [sys.executable, "-c", _WRITER, made.__name__, json.dumps(options)]
    writers = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in ("x", "y")]
    said = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    saved = {int(number): text for one in said for number, text in json.loads(one).items()}
    assert sorted(saved) == list(range(20))

    async def main() -> None:
        store = made(**options)
        for number, text in saved.items():
            assert await store.load_artifact(**WHERE, filename="a", version=number) == Part(text=text)
        await store.close()

    asyncio.run(main())


def test_concurrent_saves_get_numbers_of_their_own(check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        saves = [store.save_artifact(**WHERE, filename="a", artifact=Part(text=str(i))) for i in range(20)]
        assert sorted(await asyncio.gather(*saves)) == list(range(20))
        assert await store.list_versions(**WHERE, filename="a") == list(range(20))

    check(main)


def test_stores_open_from_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    composition = compose("adk")
    assert isinstance(composition.open_service(ArtifactBackend, "memory:"), InMemoryArtifactService)
    for uri in (
        "file:store",
        f"file:{tmp_path}/store",
        f"file://{tmp_path}/store",
        f"file://localhost{tmp_path}/store",
    ):
        assert composition.open_service(ArtifactBackend, uri).root_dir == tmp_path / "store"
    for uri in ("file:", "file://other/store"):
        with pytest.raises(ConfigurationError, match="names"):
            composition.open_service(ArtifactBackend, uri)
