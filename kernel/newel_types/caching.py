"""Cached prompts."""

from datetime import datetime
from typing import TYPE_CHECKING

from newel_types.unions import ContentListUnion, ContentUnion
from newel_types.wire import ResponseModel, WireModel, late

if TYPE_CHECKING:
    from newel_types.http import HttpOptions
    from newel_types.tool_config import ToolConfig
    from newel_types.tools import Tool
else:
    HttpOptions = late("http:HttpOptions")
    Tool = late("tools:Tool")
    ToolConfig = late("tool_config:ToolConfig")


class CachedContentUsageMetadata(ResponseModel):
    """The counts of what a cached prompt holds."""

    audio_duration_seconds: int | None = None
    image_count: int | None = None
    text_count: int | None = None
    total_token_count: int | None = None
    video_duration_seconds: int | None = None


class CachedContent(ResponseModel):
    """A cached prompt."""

    name: str | None = None
    display_name: str | None = None
    model: str | None = None
    create_time: datetime | None = None
    update_time: datetime | None = None
    expire_time: datetime | None = None
    usage_metadata: CachedContentUsageMetadata | None = None


class CreateCachedContentConfig(WireModel):
    """What to cache and for how long (`ttl` like '300s')."""

    http_options: HttpOptions | None = None
    ttl: str | None = None
    expire_time: datetime | None = None
    display_name: str | None = None
    contents: ContentListUnion | None = None
    system_instruction: ContentUnion | None = None
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    kms_key_name: str | None = None


class UpdateCachedContentConfig(WireModel):
    """How long a cached prompt lives on."""

    http_options: HttpOptions | None = None
    ttl: str | None = None
    expire_time: datetime | None = None
