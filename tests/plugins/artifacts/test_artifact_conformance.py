"""What every store of artifacts does alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from newel.artifacts import FileArtifactService, InMemoryArtifactService
from newel.artifacts.base_artifact_service import BaseArtifactService
from newel.artifacts.kinds import ArtifactBackend
from newel_compose import compose
from newel_kernel import ConfigurationError
from newel_types import Blob, FileData, FunctionCall, Part

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}
USER: dict[str, Any] = {"app_name": "desk", "user_id": "ada"}
Check = Callable[[BaseArtifactService], Coroutine[Any, Any, None]]


@pytest.fixture(params=["memory", "file"])
def check(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Check], None]:
    store = InMemoryArtifactService() if request.param == "memory" else FileArtifactService(tmp_path / "store")
    return lambda main: asyncio.run(main(store))


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
     "./a", "a\x00b", "a\nb", "user:../x", "user:/x", "x" * 2000],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(name: str, check: Any) -> None:
    async def main(store: BaseArtifactService) -> None:
        with pytest.raises(ConfigurationError, match="cannot be used"):
            await store.save_artifact(**WHERE, filename=name, artifact=Part(text="x"))
        with pytest.raises(ConfigurationError, match="cannot be used"):
            await store.load_artifact(**WHERE, filename=name)

    check(main)


NAMES = ["a.txt", "dir/sub/a.txt", "ä ö.txt", ".hidden", "CON", "a..b", "x" * 1000, "a:b", "%2e"]


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
