"""Formats of answers in each modality."""

from typing import Any

from pydantic import AliasChoices, Field

from newel_types.wire import WireEnum, WireModel


class Delivery(WireEnum):
    """Whether a generated medium comes inline or as a URI."""

    DELIVERY_UNSPECIFIED = "DELIVERY_UNSPECIFIED"
    INLINE = "INLINE"
    URI = "URI"


class AspectRatio(WireEnum):
    """Width to height of a generated medium."""

    ASPECT_RATIO_UNSPECIFIED = "ASPECT_RATIO_UNSPECIFIED"
    ASPECT_RATIO_ONE_BY_ONE = "ASPECT_RATIO_ONE_BY_ONE"
    ASPECT_RATIO_TWO_BY_THREE = "ASPECT_RATIO_TWO_BY_THREE"
    ASPECT_RATIO_THREE_BY_TWO = "ASPECT_RATIO_THREE_BY_TWO"
    ASPECT_RATIO_THREE_BY_FOUR = "ASPECT_RATIO_THREE_BY_FOUR"
    ASPECT_RATIO_FOUR_BY_THREE = "ASPECT_RATIO_FOUR_BY_THREE"
    ASPECT_RATIO_FOUR_BY_FIVE = "ASPECT_RATIO_FOUR_BY_FIVE"
    ASPECT_RATIO_FIVE_BY_FOUR = "ASPECT_RATIO_FIVE_BY_FOUR"
    ASPECT_RATIO_NINE_BY_SIXTEEN = "ASPECT_RATIO_NINE_BY_SIXTEEN"
    ASPECT_RATIO_SIXTEEN_BY_NINE = "ASPECT_RATIO_SIXTEEN_BY_NINE"
    ASPECT_RATIO_TWENTY_ONE_BY_NINE = "ASPECT_RATIO_TWENTY_ONE_BY_NINE"
    ASPECT_RATIO_ONE_BY_EIGHT = "ASPECT_RATIO_ONE_BY_EIGHT"
    ASPECT_RATIO_EIGHT_BY_ONE = "ASPECT_RATIO_EIGHT_BY_ONE"
    ASPECT_RATIO_ONE_BY_FOUR = "ASPECT_RATIO_ONE_BY_FOUR"
    ASPECT_RATIO_FOUR_BY_ONE = "ASPECT_RATIO_FOUR_BY_ONE"


class ImageSize(WireEnum):
    """The size of a generated image."""

    IMAGE_SIZE_UNSPECIFIED = "IMAGE_SIZE_UNSPECIFIED"
    IMAGE_SIZE_FIVE_TWELVE = "IMAGE_SIZE_FIVE_TWELVE"
    IMAGE_SIZE_ONE_K = "IMAGE_SIZE_ONE_K"
    IMAGE_SIZE_TWO_K = "IMAGE_SIZE_TWO_K"
    IMAGE_SIZE_FOUR_K = "IMAGE_SIZE_FOUR_K"


class AudioResponseFormat(WireModel):
    """The format of generated audio."""

    bit_rate: int | None = None
    delivery: Delivery | None = None
    mime_type: str | None = None
    sample_rate: int | None = None


class ImageResponseFormat(WireModel):
    """The format of generated images."""

    aspect_ratio: AspectRatio | None = None
    delivery: Delivery | None = None
    image_size: ImageSize | None = None
    mime_type: str | None = None


class TextResponseFormat(WireModel):
    """The format of generated text."""

    mime_type: str | None = None
    # The name comes before the wire's key, which is also a method of every pydantic object.
    jsonSchema: Any = Field(
        default=None, validation_alias=AliasChoices("jsonSchema", "schema"), serialization_alias="schema"
    )


class VideoResponseFormat(WireModel):
    """The format of generated video."""

    aspect_ratio: AspectRatio | None = None
    delivery: Delivery | None = None
    duration: str | None = None
    gcs_uri: str | None = None
    resolution: str | None = None


class ResponseFormat(WireModel):
    """The format of an answer, per modality."""

    audio: AudioResponseFormat | None = None
    image: ImageResponseFormat | None = None
    text: TextResponseFormat | None = None
    video: VideoResponseFormat | None = None
