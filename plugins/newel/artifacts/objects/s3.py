"""S3Bucket: a bucket behind S3's protocol, through botocore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from newel.artifacts.objects.bucket import PART_BYTES, Bucket, Entry
from newel.artifacts.objects.calls import Calls, Client, KeyExistsError, Trouble
from newel_kernel import ConfigurationError, FeatureUnavailableError, Json

_MISSING = {"404", "NoSuchKey", "NoSuchUpload", "NotFound"}
_EXISTS = {"412", "PreconditionFailed"}
#: Errors that may pass, in addition to every status of 500 and above.
_TRANSIENT = {
    "409",
    "429",
    "ConditionalRequestConflict",
    "InternalError",
    "OperationAborted",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
_AT_ONCE = 1000


class S3Bucket(Bucket):
    """The bucket `name`; `options` are those of botocore's `create_client`, `timeout` is in seconds for each try."""

    def __init__(self, name: str, *, patience: float, timeout: float, options: Mapping[str, Any]) -> None:
        try:
            import botocore.config
            import botocore.exceptions
            import botocore.parsers
            import botocore.session
        except ImportError as error:
            raise FeatureUnavailableError("artifacts in S3 need botocore: pip install 'newel[s3]'") from error
        self._botocore = botocore
        self._name = name
        self._calls = Calls(f"s3://{name}", patience)
        # Each call is retried here, within its patience, not by botocore.
        config = botocore.config.Config(
            connect_timeout=timeout, read_timeout=timeout, retries={"total_max_attempts": 1, "mode": "standard"}
        )
        own = options.get("config")
        all_options = {**options, "config": config if own is None else config.merge(own)}
        self._client = Client(lambda: botocore.session.get_session().create_client("s3", **all_options))

    def uri(self, key: str) -> str:
        """The address of an object."""
        return f"s3://{self._name}/{key}"

    async def put(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object, in parts if it is large."""
        if len(data) > PART_BYTES:
            await self._put_parts(key, data, content_type)
        else:
            await self._call("put_object", {"Key": key, "Body": data, "ContentType": content_type})

    async def put_new(self, key: str, data: bytes, content_type: str) -> None:
        """Write an object if no object has that key."""
        arguments = {"Key": key, "Body": data, "ContentType": content_type, "IfNoneMatch": "*"}
        await self._call("put_object", arguments)

    async def get(self, key: str, size: int = 0) -> bytes | None:
        """An object, or None."""
        if size <= PART_BYTES:
            data: bytes | None = await self._call("get_object", {"Key": key}, _body)
            return data
        whole = bytearray()
        for start in range(0, size, PART_BYTES):
            end = min(start + PART_BYTES, size) - 1
            part = await self._call("get_object", {"Key": key, "Range": f"bytes={start}-{end}"}, _body)
            if part is None:
                return None
            whole += part
        return bytes(whole)

    async def entries(self, prefix: str, most: int | None = None) -> list[Entry]:
        """The objects whose keys begin with `prefix`."""
        pages = await self._listing({"Prefix": prefix} if most is None else {"Prefix": prefix, "MaxKeys": most}, most)
        listed = [one for page in pages for one in page.get("Contents", ())]
        return [Entry(one["Key"], one["LastModified"].timestamp()) for one in listed]

    async def folders(self, prefix: str) -> list[str]:
        """The names below a prefix."""
        pages = await self._listing({"Prefix": prefix, "Delimiter": "/"})
        return [one["Prefix"][len(prefix) : -1] for page in pages for one in page.get("CommonPrefixes", ())]

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for start in range(0, len(keys), _AT_ONCE):
            objects = [{"Key": key} for key in keys[start : start + _AT_ONCE]]
            await self._call("delete_objects", {"Delete": {"Objects": objects, "Quiet": True}}, _all_deleted)

    async def unfinished(self, prefix: str, before: float, *, delete: bool) -> list[str]:
        """Uploads in parts that were never completed."""
        listed: Json | None = await self._call("list_multipart_uploads", {"Prefix": prefix})
        old = [one for one in (listed or {}).get("Uploads", ()) if one["Initiated"].timestamp() < before]
        for one in old if delete else ():
            await self._call("abort_multipart_upload", {"Key": one["Key"], "UploadId": one["UploadId"]})
        return [one["Key"] for one in old]

    async def close(self) -> None:
        """Close the connections."""
        self._calls.close()
        self._client.close()

    async def _listing(self, arguments: Json, most: int | None = None) -> list[Json]:
        """The pages of a listing: all, or those that hold the first `most`, which must be few."""
        pages: list[Json] = []
        token: Json = {}
        while True:
            page = await self._call("list_objects_v2", {**arguments, **token})
            pages.append(page or {})
            if not page or most is not None or not page.get("NextContinuationToken"):
                return pages
            token = {"ContinuationToken": page["NextContinuationToken"]}

    async def _put_parts(self, key: str, data: bytes, content_type: str) -> None:
        upload_id = await self._call("create_multipart_upload", {"Key": key, "ContentType": content_type}, _upload_id)
        upload = {"Key": key, "UploadId": upload_id}
        parts: list[Json] = []
        for number, start in enumerate(range(0, len(data), PART_BYTES), start=1):
            body = data[start : start + PART_BYTES]
            tag = await self._call("upload_part", {**upload, "PartNumber": number, "Body": body}, _tag)
            parts.append({"PartNumber": number, "ETag": tag})
        result = await self._call("complete_multipart_upload", {**upload, "MultipartUpload": {"Parts": parts}})
        # If the answer to an earlier try was lost, the upload is gone, but its object exists.
        if result is None and await self._call("head_object", {"Key": key}) is None:
            raise ConfigurationError(f"the upload of {self.uri(key)} was aborted by another client; save it again")

    async def _call(self, operation: str, arguments: Json, take: Callable[[Json], Any] = dict) -> Any:
        """The answer to an operation, as `take` reads it; None if the object does not exist."""
        return await self._calls.run(partial(self._ask, operation, arguments, take))

    def _ask(self, operation: str, arguments: Json, take: Callable[[Json], Any]) -> Any:
        errors, unread = self._botocore.exceptions, self._botocore.parsers.ResponseParserError
        try:
            return take(getattr(self._client.get(), operation)(Bucket=self._name, **arguments))
        except errors.ClientError as error:
            failure = self._refusal(operation, error.response)
        except (errors.HTTPClientError, errors.ConnectionError, errors.IncompleteReadError, unread, OSError) as error:
            failure = Trouble(f"{operation}: {type(error).__name__}")
        except (errors.BotoCoreError, ValueError) as error:  # ValueError: the endpoint is not an address
            failure = ConfigurationError(
                f"the bucket s3://{self._name} cannot be used ({operation}: {type(error).__name__}): check the "
                f"credentials, the region and the endpoint in the environment or in AWS's own files"
            )
        if failure is None:
            return None
        raise failure  # outside, so that no SDK error, which holds addresses, becomes its context

    def _refusal(self, operation: str, response: Json) -> Exception | None:
        """The error for a refusal; None if the answer says that the object does not exist."""
        code = str(response.get("Error", {}).get("Code", ""))
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _EXISTS or status == 412:
            return KeyExistsError(operation)
        if code in _MISSING:
            return None
        if code in _TRANSIENT or status >= 500 or status == 429:
            return Trouble(f"{operation}: {code} {status}")
        return ConfigurationError(
            f"the bucket s3://{self._name} refuses {operation} ({code}, status {status}): check its name and region, "
            f"and what the credentials allow"
        )


def _upload_id(answer: Json) -> str:
    return str(answer["UploadId"])


def _tag(answer: Json) -> str:
    return str(answer["ETag"])


def _body(answer: Json) -> bytes:
    """All the bytes of an answer."""
    body = answer["Body"]  # as a context manager it would give the raw stream, which raises other errors
    try:
        data: bytes = body.read()
    finally:
        body.close()
    return data


def _all_deleted(answer: Json) -> None:
    """Raise Trouble if some objects were not deleted, so that the call is tried again."""
    codes = sorted({str(one.get("Code")) for one in _errors(answer)})
    if codes:
        raise Trouble(f"delete_objects: {', '.join(codes)}")


def _errors(answer: Json) -> Iterator[Json]:
    return (one for one in answer.get("Errors", ()) if one.get("Code") not in _MISSING)
