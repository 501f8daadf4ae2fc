"""What a store in a bucket meets: messages that are lost, servers that refuse, answers that never come."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.plugins.artifacts.faulty_proxy import FAULTS, FORBIDDEN, HANGS, FaultyProxy, faulty_proxy

from newel.artifacts import ArtifactStoreUnavailableError, GcsArtifactService, S3ArtifactService
from newel.artifacts.kinds import ArtifactBackend
from newel.artifacts.objects import bucket, gcs, s3
from newel.artifacts.objects.service import ObjectArtifactService
from newel_compose import compose
from newel_kernel import ConfigurationError
from newel_types import Blob, Part

WHERE: dict[str, Any] = {"app_name": "desk", "user_id": "ada", "session_id": "s1"}
Open = Callable[..., ObjectArtifactService]


def blob(data: bytes) -> Part:
    return Part(inline_data=Blob(mime_type="x/y", data=data))


@pytest.fixture(scope="module")
def s3_proxy(s3_server: str) -> Iterator[FaultyProxy]:
    with faulty_proxy(s3_server) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def gcs_proxy(gcs_server: str) -> Iterator[FaultyProxy]:
    with faulty_proxy(gcs_server) as proxy:
        yield proxy


@pytest.fixture(params=["s3", "gcs"])
def faulty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FaultyProxy, Open]]:
    """A proxy before a server, and what opens stores behind it, all with one bucket."""
    proxy: FaultyProxy = request.getfixturevalue(f"{request.param}_proxy")
    options = request.getfixturevalue(f"new_{request.param}_bucket")()
    proxy.arm(lambda number: None)
    if request.param == "s3":
        yield proxy, lambda **more: S3ArtifactService(**{**options, "endpoint_url": proxy.url, **more})
    else:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        yield proxy, lambda **more: GcsArtifactService(**{**options, **more})
    proxy.arm(lambda number: None)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Parts of 256 KB, and data of two parts."""
    for module in (s3, gcs):
        monkeypatch.setattr(module, "PART_BYTES", 2**18)
    monkeypatch.setattr("google.cloud.storage.blob._MAX_MULTIPART_SIZE", 2**18)
    return os.urandom(400_000)


def run(main: Any) -> None:
    asyncio.run(main)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_message_leaves_it_consistent(
    fault: str, faulty: tuple[FaultyProxy, Open], small_parts: bytes
) -> None:
    """At the first, the second, ... message of some work, until there are no more: the work is done, and done once."""
    proxy, opened = faulty
    large = blob(small_parts)

    async def save(store: ObjectArtifactService, name: str) -> None:
        for number in range(2):
            assert await store.save_artifact(**WHERE, filename=name, artifact=Part(text=f"{number}")) == number

    async def load_large(store: ObjectArtifactService, name: str) -> None:
        await store.save_artifact(**WHERE, filename=name, artifact=large)
        assert await store.load_artifact(**WHERE, filename=name) == large

    async def delete(store: ObjectArtifactService, name: str) -> None:
        assert name in await store.list_artifact_keys(**WHERE)
        await store.delete_artifact(**WHERE, filename=name)
        assert await store.list_versions(**WHERE, filename=name) == []

    async def main() -> None:
        store = opened()
        for work, messages in ((save, 6), (load_large, 9), (delete, 6)):
            number = 0
            fired = True
            while fired:
                number += 1
                if work is delete:
                    await save(store, f"{number}")
                proxy.arm(lambda n, at=number: fault if n == at else None)  # type: ignore[misc]
                await work(store, f"{number}")
                fired = proxy.fired > 0
                proxy.arm(lambda n: None)
                await store.delete_session(**WHERE)
            assert number >= messages
        assert await store.stored(app_name="desk") == []
        # In S3 an upload in parts that was begun twice, for nobody heard of the first.
        begun = fault in ("unanswered", "cut") and isinstance(store, S3ArtifactService)
        assert len(await store.incomplete_writes(app_name="desk", before=4e9, delete=True)) == begun
        assert await store.incomplete_writes(app_name="desk", before=4e9, delete=False) == []
        await store.close()

    run(main())


def test_many_writers_with_many_faults_lose_and_double_nothing(faulty: tuple[FaultyProxy, Open]) -> None:
    proxy, opened = faulty

    async def main() -> None:
        proxy.arm(lambda number: FAULTS[number // 3 % len(FAULTS)] if number % 3 == 0 else None)
        stores = [opened(), opened()]
        saves = [stores[n % 2].save_artifact(**WHERE, filename="a", artifact=Part(text=str(n))) for n in range(10)]
        numbers = await asyncio.gather(*saves)
        proxy.arm(lambda number: None)
        assert sorted(numbers) == await stores[0].list_versions(**WHERE, filename="a") == list(range(10))
        for text, number in enumerate(numbers):
            loaded = await stores[0].load_artifact(**WHERE, filename="a", version=number)
            assert loaded == Part(text=str(text))
        for store in stores:
            await store.close()

    run(main())


@pytest.mark.parametrize("fault", ["refused", "lost", HANGS])
def test_a_store_that_is_away_is_an_error_in_time_and_works_again(fault: str, faulty: tuple[FaultyProxy, Open]) -> None:
    proxy, opened = faulty

    async def main() -> None:
        store = opened(timeout=1.5)
        calls = store._bucket._calls  # type: ignore[attr-defined]
        await store.save_artifact(**WHERE, filename="a", artifact=Part(text="kept"))
        proxy.arm(lambda number: fault)
        calls.patience, patience = 2.0, calls.patience
        async with asyncio.timeout(60):
            with pytest.raises(ArtifactStoreUnavailableError, match="could not be reached for 2 seconds") as caught:
                await store.save_artifact(**WHERE, filename="a", artifact=Part(text="lost"))
        assert caught.value.retry_after > 0
        proxy.arm(lambda number: None)
        calls.patience = patience
        assert await store.load_artifact(**WHERE, filename="a") == Part(text="kept")
        assert await store.save_artifact(**WHERE, filename="a", artifact=Part(text="next")) == 1
        await store.close()

    run(main())


def test_what_a_crash_left_is_found_by_its_age(faulty: tuple[FaultyProxy, Open], small_parts: bytes) -> None:
    """Data whose record was never written, and in S3 an upload in parts that was never ended."""
    proxy, opened = faulty

    async def main() -> None:
        store = opened()
        await store.save_artifact(**WHERE, filename="a", artifact=Part(text="kept"))
        for data in (b"x", small_parts):
            proxy.arm(lambda number: FORBIDDEN if number >= 3 else None)
            with pytest.raises(ConfigurationError, match="refuses"):
                await store.save_artifact(**WHERE, filename="a", artifact=blob(data))
        proxy.arm(lambda number: None)
        assert await store.incomplete_writes(app_name="desk", before=1e9, delete=True) == []
        left = await store.incomplete_writes(app_name="desk", before=4e9, delete=False)
        assert len(left) == (2 if isinstance(store, S3ArtifactService) else 1)
        assert await store.incomplete_writes(app_name="desk", before=4e9, delete=True) == left
        assert await store.incomplete_writes(app_name="desk", before=4e9, delete=True) == []
        assert await store.load_artifact(**WHERE, filename="a") == Part(text="kept")
        await store.close()

    run(main())


def test_no_error_says_a_secret_or_an_address(
    faulty: tuple[FaultyProxy, Open], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, opened = faulty
    address = "http://ann:hush@127.0.0.1:9"

    async def main() -> None:
        in_s3 = isinstance(opened(), S3ArtifactService)
        elsewhere = {"endpoint_url": address} if in_s3 else {"client_options": {"api_endpoint": address}}
        unusable = {"region_name": "not a region"} if in_s3 else {"credentials": None}
        no_address = {"endpoint_url": "ann:hush@minio"} if in_s3 else unusable
        cases: list[tuple[dict[str, Any], str | None, type[Exception]]] = [
            ({"bucket_name": "no-such-bucket"}, None, ConfigurationError),
            (elsewhere, None, ArtifactStoreUnavailableError),
            ({}, "lost", ArtifactStoreUnavailableError),
            ({}, FORBIDDEN, ConfigurationError),
            (unusable, None, ConfigurationError),
            (no_address, None, ConfigurationError),
        ]
        for options, fault, error in cases:
            proxy.arm(lambda number, fault=fault: fault)  # type: ignore[misc]
            if "credentials" in options:
                monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
                monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/no/hush.json")
            patience = 30.0 if error is ConfigurationError else 2.0
            store = opened(**{"patience": patience, "timeout": 1.0, **options})
            with pytest.raises(error) as caught:
                await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"))
            text = "".join(traceback.format_exception(caught.value))
            assert ("s3://" if in_s3 else "gs://") in str(caught.value)
            assert not [secret for secret in ("hush", "AKIATEST", "127.0.0.1") if secret in text]
            await store.close()

    run(main())


def test_a_damaged_record_is_named(faulty: tuple[FaultyProxy, Open]) -> None:
    _, opened = faulty

    async def main() -> None:
        store = opened()
        await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"))
        held: bucket.Bucket = store._bucket
        (record,) = [entry.key for entry in await held.entries("") if "/artifact/" in entry.key]
        await held.put(record, b"{", "application/json")
        with pytest.raises(ConfigurationError, match="is damaged"):
            await store.load_artifact(**WHERE, filename="a")
        await store.close()

    run(main())


def test_many_versions_are_listed_by_pages(faulty: tuple[FaultyProxy, Open]) -> None:
    proxy, opened = faulty

    async def main() -> None:
        store = opened()
        held: bucket.Bucket = store._bucket
        names = [f"p/{number:04d}/x" for number in range(120)]
        await asyncio.gather(*(held.put(name, b"", "x/y") for name in names))
        proxy.arm(lambda number: None)
        assert [entry.key for entry in await held.entries("p/")] == names
        assert proxy.requests == 3  # of fifty each
        assert [entry.key for entry in await held.entries("p/", 1)] == names[:1]
        assert await held.folders("p/") == [name[2:6] for name in names]
        await held.delete(names)
        assert await held.entries("p/") == []
        await store.close()

    run(main())


def test_saving_does_not_slow_down_with_the_versions(faulty: tuple[FaultyProxy, Open]) -> None:
    proxy, opened = faulty

    async def main() -> None:
        store = opened()
        counts = []
        for _ in range(30):
            proxy.arm(lambda number: None)
            await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"))
            counts.append(proxy.requests)
        assert set(counts) == {3}  # the data, the latest number, the record
        await store.close()

    run(main())


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("s3:", "names no bucket"),
        ("s3:///x", "names no bucket"),
        ("s3://b?regoin=x", "did you mean 'region'"),
        ("s3://key:hush@bucket/x", "takes no credentials"),
        ("s3://hush@bucket", "takes no credentials"),
        ("s3://[", "is not a URI"),
        ("gs:", "names no bucket"),
        ("gs://b?regoin=x", "there are: project"),
        ("gs://key:hush@bucket/x", "takes no credentials"),
    ],
)
def test_an_address_that_is_none_is_told(uri: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem) as caught:
        compose("adk").open_service(ArtifactBackend, uri)
    assert "hush" not in str(caught.value)


def test_stores_open_from_addresses(new_s3_bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    options = new_s3_bucket()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["aws_secret_access_key"])

    async def main() -> None:
        uri = f"s3://{options['bucket_name']}/some/where?region=eu-central-1&endpoint={options['endpoint_url']}"
        store = compose("adk").open_service(ArtifactBackend, uri)
        assert isinstance(store, S3ArtifactService)
        await store.save_artifact(**WHERE, filename="a", artifact=Part(text="x"))
        version = await store.get_artifact_version(**WHERE, filename="a")
        assert version is not None
        assert version.canonical_uri.startswith(f"s3://{options['bucket_name']}/some/where/desk-")
        await store.close()

    run(main())


def test_a_google_bucket_opens_from_its_address(new_gcs_bucket: Any) -> None:
    async def main() -> None:
        uri = f"gs://{new_gcs_bucket()['bucket_name']}/some/where?project=test"
        store = compose("adk").open_service(ArtifactBackend, uri)
        assert isinstance(store, GcsArtifactService)
        await store.save_artifact(**WHERE, filename="a", artifact=blob(b"x"))
        version = await store.get_artifact_version(**WHERE, filename="a")
        assert version is not None
        assert version.canonical_uri.startswith(uri.replace("?project=test", "/desk-"))
        await store.close()

    run(main())


@pytest.mark.parametrize(("uri", "sdk"), [("s3://b", "botocore"), ("gs://b", "google.cloud.storage")])
def test_the_sdk_is_imported_with_the_first_service(uri: str, sdk: str) -> None:
    code = (
        "import sys; from newel_compose import compose; from newel.artifacts.kinds import ArtifactBackend\n"
        "from newel.artifacts import GcsArtifactService, S3ArtifactService\n"
        f"composed = compose('standard'); print({sdk!r} in sys.modules)\n"
        f"composed.open_service(ArtifactBackend, {uri!r}); print({sdk!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
