"""Files that the service stores."""

from datetime import datetime

from newel_types.records import Json
from newel_types.wire import ResponseModel, WireEnum


class FileState(WireEnum):
    """Whether a stored file can be used yet."""

    STATE_UNSPECIFIED = "STATE_UNSPECIFIED"
    PROCESSING = "PROCESSING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"


class FileSource(WireEnum):
    """Where a stored file comes from."""

    SOURCE_UNSPECIFIED = "SOURCE_UNSPECIFIED"
    UPLOADED = "UPLOADED"
    GENERATED = "GENERATED"
    REGISTERED = "REGISTERED"


class FileStatus(ResponseModel):
    """Why processing of a stored file failed."""

    details: list[Json] | None = None
    message: str | None = None
    code: int | None = None


class File(ResponseModel):
    """A file that the service stores, as its file API describes it."""

    name: str | None = None
    display_name: str | None = None
    mime_type: str | None = None
    size_bytes: int | None = None
    create_time: datetime | None = None
    expiration_time: datetime | None = None
    update_time: datetime | None = None
    sha256_hash: str | None = None
    uri: str | None = None
    download_uri: str | None = None
    state: FileState | None = None
    source: FileSource | None = None
    video_metadata: Json | None = None
    error: FileStatus | None = None
