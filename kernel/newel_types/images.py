"""Options of generated images."""

from newel_types.wire import WireEnum, WireModel


class ProminentPeople(WireEnum):
    """Whether well-known people may be shown."""

    PROMINENT_PEOPLE_UNSPECIFIED = "PROMINENT_PEOPLE_UNSPECIFIED"
    ALLOW_PROMINENT_PEOPLE = "ALLOW_PROMINENT_PEOPLE"
    BLOCK_PROMINENT_PEOPLE = "BLOCK_PROMINENT_PEOPLE"


class ImageConfigImageOutputOptions(WireModel):
    """The encoding of a generated image."""

    compression_quality: int | None = None
    mime_type: str | None = None


class ImageConfig(WireModel):
    """What generated images look like."""

    aspect_ratio: str | None = None
    image_size: str | None = None
    person_generation: str | None = None
    prominent_people: ProminentPeople | None = None
    output_mime_type: str | None = None
    output_compression_quality: int | None = None
    image_output_options: ImageConfigImageOutputOptions | None = None
