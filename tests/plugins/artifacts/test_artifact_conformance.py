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
from newel.artifacts.kinds import ArtifactBackend
from newel.artifacts.stored_part import scope_of
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import artifact_checks
from newel.testing.artifacts.checks import CHECKS, SHARED_CHECKS
from newel.testing.artifacts.saves import PROCESS_CHECKS, SAVE_CHECKS
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, EventActions
from newel_types import Blob, Part

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}


def png(data: bytes = b"\x89PNG\x00") -> Part:
    return Part(inline_data=Blob(mime_type="image/png", data=data, display_name="p.png"))


@pytest.mark.parametrize("name", [*CHECKS, *SAVE_CHECKS, *SHARED_CHECKS, *PROCESS_CHECKS])
def test_every_store_conforms(name: str, made: Any) -> None:
    make, shared = made
    checks = artifact_checks(make, shared=shared)
    assert (name in checks) == (shared or name in {**CHECKS, **SAVE_CHECKS})
    checks.get(name, lambda: None)()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
METADATA = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


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
            assert loaded == png(data)
            version = await store.get_artifact_version(**WHERE, filename=name)
            assert version is not None
            assert (version.version, version.custom_metadata) == (number, metadata)
        stored = {(one.filename, one.session_id, one.user_id) for one in await store.stored(app_name="desk")}
        assert stored == {(name, "s1", "ada") for name in latest}

    draw()
    check(main)


def test_a_fork_takes_its_artifacts_along_or_there_is_none(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(store: ArtifactStore) -> None:
        sessions = InMemorySessionService()
        runner = Runner(app_name="desk", agent=LlmAgent(name="a"), session_service=sessions, artifact_service=store)
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
        assert await store.load_artifact(**fork, filename="a") == png(b"")  # empty, as it was
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
