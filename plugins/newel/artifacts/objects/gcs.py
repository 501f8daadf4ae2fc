"""GcsBucket: a bucket of Google Cloud Storage, through google-cloud-storage."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from newel.artifacts.objects.bucket import PART_BYTES, Bucket, Entry
from newel.artifacts.objects.calls import Calls, Client, KeyExistsError, Trouble, each
from newel_kernel import ConfigurationError, FeatureUnavailableError, Json

T = TypeVar("T")
_TRANSIENT = {408, 429}


class GcsBucket(Bucket):
    """The bucket `name`; `options` are those of `google.cloud.storage.Client`, `timeout` is in seconds for each try."""

    def __init__(self, name: str, *, patience: float, timeout: float, options: Mapping[str, Any]) -> None:
        try:
            storage = import_module("google.cloud.storage")
            retry, failures = (import_module(f"google.cloud.storage.{name}") for name in ("retry", "exceptions"))
            api, auth = (import_module(f"google.{name}.exceptions") for name in ("api_core", "auth"))
            requests = import_module("requests")
        except ImportError as error:
            raise FeatureUnavailableError(
                "artifacts in Google Cloud Storage need google-cloud-storage: pip install 'newel[gcs]'"
            ) from error
        self._client = Client(lambda: storage.Client(**options))
        self._refusals = api.GoogleAPICallError
        self._auth_errors = auth.GoogleAuthError
        self._transient_errors = (
            requests.RequestException,
            OSError,
            api.RetryError,
            auth.TransportError,
            failures.DataCorruption,
            failures.InvalidResponse,
        )
        self._name = name
        self._calls = Calls(f"gs://{name}", patience)
        #: Each call is retried here, within its patience; in an upload in parts, the SDK retries each part.
        self._once: Json = {"retry": None, "timeout": (timeout, timeout)}
        self._by_part: Json = {
            "retry": retry.DEFAULT_RETRY.with_timeout(patience).with_delay(initial=0.05, maximum=2.0),
            "timeout": (timeout, timeout),
        }

    def uri(self, key: str) -> str:
        """The address of an object."""
        return f"gs://{self._name}/{key}"

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object, in parts if it is large."""
        if len(data) <= PART_BYTES:
            await self._upload(lambda bucket: bucket.blob(key), data, content_type, self._once)
        else:
            parts = -(-len(data) // PART_BYTES)
            await self._upload(
                lambda bucket: bucket.blob(key, chunk_size=PART_BYTES), data, content_type, self._by_part, parts
            )

    async def put_new(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object if no object has that key."""
        only_new = {**self._once, "if_generation_match": 0}
        await self._upload(lambda bucket: bucket.blob(key), data, content_type, only_new)

    async def _upload(
        self, blob: Callable[[Any], Any], data: bytes, content_type: str, options: Json, parts: int = 1
    ) -> None:
        def work(bucket: Any) -> bool:
            blob(bucket).upload_from_file(io.BytesIO(data), size=len(data), content_type=content_type, **options)
            return True

        if await self._call(work, patience=self._calls.patience * parts) is None:
            raise self._no_bucket()

    async def get(self, key: str, size: int = 0) -> bytes | None:
        """An object, or None."""
        if size <= PART_BYTES:
            data: bytes | None = await self._call(lambda bucket: bucket.blob(key).download_as_bytes(**self._once))
            return data
        whole = bytearray()
        for start in range(0, size, PART_BYTES):
            limits = {"start": start, "end": min(start + PART_BYTES, size) - 1}
            part = await self._call(partial(self._part, key, limits))
            if part is None:
                return None
            whole += part
        return bytes(whole)

    def _part(self, key: str, limits: Json, bucket: Any) -> Any:
        return bucket.blob(key).download_as_bytes(**limits, **self._once)

    async def entries(self, prefix: str, most: int | None = None) -> list[Entry]:
        """The objects whose keys begin with `prefix`."""
        return (await self._listing({"prefix": prefix}, most))[0]

    async def folders(self, prefix: str) -> list[str]:
        """The names below a prefix."""
        folders = (await self._listing({"prefix": prefix, "delimiter": "/"}, None))[1]
        return [one[len(prefix) : -1] for one in folders]

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, one call each."""
        await each(keys, lambda key: self._call(lambda bucket: bucket.blob(key).delete(**self._once)))

    async def close(self) -> None:
        """Close the connections."""
        self._calls.close()
        self._client.close()

    async def _listing(self, choice: Json, most: int | None) -> tuple[list[Entry], list[str]]:
        """The objects and the folders of a listing: all, or the first `most`, which must be few."""
        entries: list[Entry] = []
        folders: list[str] = []
        token: str | None = None
        while True:
            page = await self._call(partial(self._page, {**choice, "max_results": most, "page_token": token}))
            if page is None:
                raise self._no_bucket()
            entries += page[0]
            folders += page[1]
            token = page[2]
            if token is None or most is not None:
                return entries, folders

    def _no_bucket(self) -> ConfigurationError:
        return ConfigurationError(f"there is no bucket gs://{self._name}: create it, or name another one")

    def _page(self, choice: Json, bucket: Any) -> tuple[list[Entry], list[str], str | None]:
        listing = bucket.list_blobs(**choice, **self._once)
        first = next(listing.pages, ())
        entries = [Entry(blob.name, blob.updated.timestamp()) for blob in first]
        return entries, sorted(listing.prefixes), listing.next_page_token

    async def _call(self, work: Callable[[Any], T], patience: float | None = None) -> T | None:
        """The result of `work` on the bucket; None if the object does not exist."""
        return await self._calls.run(partial(self._ask, work), patience=patience)

    def _ask(self, work: Callable[[Any], T]) -> T | None:
        try:
            return work(self._client.get().bucket(self._name))
        except self._refusals as error:
            failure = self._refusal(error.code, type(error).__name__)
        except self._transient_errors as error:
            failure = self._trouble(error)
        except self._auth_errors as error:
            failure = ConfigurationError(
                f"the bucket gs://{self._name} cannot be used ({type(error).__name__}): check the credentials, for "
                f"example with GOOGLE_APPLICATION_CREDENTIALS or `gcloud auth application-default login`"
            )
        if failure is None:
            return None
        raise failure  # outside, so that no SDK error, which holds addresses, becomes its context

    def _trouble(self, error: BaseException) -> Exception | None:
        """The error for a call that was cut off; some SDK errors hold an answer that is a refusal."""
        status = getattr(getattr(error, "response", None), "status_code", None)
        return Trouble(type(error).__name__) if status is None else self._refusal(status, type(error).__name__)

    def _refusal(self, code: Any, name: str) -> Exception | None:
        """The error for a refusal; None if the answer says that the object does not exist."""
        status = int(code or 0)
        if status == 412:
            return KeyExistsError()
        if status == 404:
            return None
        if status in _TRANSIENT or status >= 500 or status < 400:  # below 400: a success that cannot be read
            return Trouble(f"{name} {status}")
        return ConfigurationError(
            f"the bucket gs://{self._name} refuses a call ({name}, status {status}): check its name, and what the "
            f"credentials allow"
        )
