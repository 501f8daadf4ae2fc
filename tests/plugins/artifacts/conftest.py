"""The artifact stores under test, and the servers that they need."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from newel.artifacts import (
    ArtifactStore,
    FileArtifactService,
    GcsArtifactService,
    InMemoryArtifactService,
    S3ArtifactService,
)

Check = Callable[[ArtifactStore], Awaitable[None]]
#: A class of stores, and the arguments with which each has the same artifacts.
Shared = tuple[type[ArtifactStore], dict[str, Any]]
#: The stores that several services, also of several processes, may share.
SHARED = ("file", "s3", "gcs")
CREDENTIALS = {"region_name": "eu-central-1", "aws_access_key_id": "AKIATEST", "aws_secret_access_key": "hush"}


@contextmanager
def server(script: str) -> Iterator[str]:
    """A server of this folder in a process of its own; its URL."""
    command = [sys.executable, str(Path(__file__).with_name(script))]
    small = {**os.environ, "S3_UPLOAD_PART_MIN_SIZE": "1024", "MOTO_S3_DEFAULT_MAX_KEYS": "50"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=small) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The URL of a server of S3's protocol."""
    with server("s3_server.py") as url:
        yield url


@pytest.fixture(scope="session")
def new_s3_bucket(s3_server: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Makes an empty bucket; the arguments of a service with it."""
    import botocore.session
    from botocore.loaders import JSONFileLoader

    # Each service reads what S3 can do from large files: a quarter of what these tests take.
    read = cache(partial(JSONFileLoader.load_file, JSONFileLoader()))
    patch = pytest.MonkeyPatch()
    patch.setattr(JSONFileLoader, "load_file", lambda _, path: read(path))
    options = {**CREDENTIALS, "endpoint_url": s3_server}
    client = botocore.session.get_session().create_client("s3", **options)

    def new() -> dict[str, Any]:
        name = f"newel-{uuid4()}"
        client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        return {"bucket_name": name, **options}

    yield new
    client.close()
    patch.undo()


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[str]:
    """The URL of a server of Cloud Storage's protocol."""
    with server("gcs_server.py") as url:
        yield url


@pytest.fixture
def new_gcs_bucket(gcs_server: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """Makes an empty bucket on the server that the environment names; the arguments of a service with it."""
    from google.cloud.storage import Client

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_server)
    # For traces, the SDK asks about the bucket in a thread of its own; here messages are counted.
    monkeypatch.setenv("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")

    def new() -> dict[str, Any]:
        name = f"newel-{uuid4()}"
        client = Client(project="test")
        client.create_bucket(name)
        client.close()
        return {"bucket_name": name, "project": "test"}

    return new


def shared_store(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Shared:
    """A store of a kind, with a place that is empty."""
    if kind == "file":
        return FileArtifactService, {"root_dir": str(tmp_path / "store")}
    made = {"s3": S3ArtifactService, "gcs": GcsArtifactService}[kind]
    return made, request.getfixturevalue(f"new_{kind}_bucket")()


@pytest.fixture(params=SHARED)
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Shared:
    """Each kind of store that has a place."""
    return shared_store(request.param, request, tmp_path)


@pytest.fixture(params=["memory", *SHARED])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[], ArtifactStore], bool]:
    """What makes services of each kind, and whether they share a place, which is empty."""
    if request.param == "memory":
        return InMemoryArtifactService, False
    service, options = shared_store(request.param, request, tmp_path)
    return lambda: service(**options), True


@pytest.fixture
def check(made: tuple[Callable[[], ArtifactStore], bool]) -> Callable[[Check], None]:
    """Runs a check on an empty store of each kind."""

    async def run(main: Check) -> None:
        store = made[0]()
        try:
            await main(store)
        finally:
            await store.close()

    return lambda main: asyncio.run(run(main))
