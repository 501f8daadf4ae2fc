"""Bucket: the objects of a Google Cloud Storage bucket, as texts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any
from urllib.parse import quote, urlencode

from newel.evaluation.cloud.client import CloudClient
from newel_kernel import ConfigurationError

_BASE = "https://storage.googleapis.com"


class Bucket:
    """An existing bucket; ValueError if it does not exist.

    `options` are `credentials` (google-auth's) and `project`, which is charged. STORAGE_EMULATOR_HOST is the address of
    an emulator, which asks for no credentials.
    """

    def __init__(self, name: str, **options: Any) -> None:
        unknown = sorted(set(options) - {"credentials", "project"})
        if unknown:
            raise TypeError(f"a bucket takes `credentials` and `project`, not {', '.join(unknown)}")
        emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
        base = emulator if "://" in emulator or not emulator else f"http://{emulator}"
        credentials = options.get("credentials")
        self._client = CloudClient(
            base or _BASE, credentials=credentials, anonymous=bool(base) and credentials is None, own_host=bool(base)
        )
        self._project = options.get("project")
        self._name = name
        path = self._path("")
        reply = self._client.ask("GET", path)
        if reply.status == 404:
            raise ConfigurationError(f"there is no bucket {name!r}; create it, or name another one")
        self._client.check(reply, path)

    def read(self, name: str) -> str | None:
        """An object's text; None if there is no such object."""
        path = self._path(f"/o/{quote(name, safe='')}", alt="media")
        reply = self._client.ask("GET", path)
        if reply.status == 404:
            return None
        self._client.check(reply, path)
        return reply.body.decode("utf-8")

    def write(self, name: str, content: str | IO[bytes]) -> None:
        """Store an object, whole or not at all: a text, or the content of a file, which is sent piece by piece."""
        path = self._path("/o", "/upload", uploadType="media", name=name)
        body = content.encode("utf-8") if isinstance(content, str) else content
        reply = self._client.ask("POST", path, body, "application/json")
        self._client.check(reply, path)

    def names(self, prefix: str) -> Iterator[str]:
        """The names of the objects below `prefix`."""
        token = ""
        while True:
            more = {"pageToken": token} if token else {}
            page = self._client.json("GET", self._path("/o", prefix=prefix, **more))
            yield from (str(item["name"]) for item in page.get("items", ()))
            token = page.get("nextPageToken", "")
            if not token:
                return

    def _path(self, rest: str, service: str = "", **query: str) -> str:
        if self._project:
            query["userProject"] = str(self._project)
        path = f"{service}/storage/v1/b/{quote(self._name, safe='')}{rest}"
        return f"{path}?{urlencode(query)}" if query else path
