"""Messages: what the user says, in the spec of a run, or as an artifact if it is too large for that."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256

from pydantic_core import to_json

from newel.engines.engine import SpecRefusedError
from newel.engines.places import AppRunner, place_of
from newel.engines.spec import MOST_BYTES, InvocationSpec, check_spec, size_of
from newel_kernel import ConfigurationError, Json, brief
from newel_types import Blob, Content, Part

_TYPE = "application/json"


def with_message(spec: InvocationSpec, content: Content) -> tuple[InvocationSpec, bytes | None]:
    """The spec with the message; if that is too large, with the name of the artifact that is to have these bytes."""
    message: Json = content.model_dump(mode="json", exclude_none=True, by_alias=True)
    data = to_json(message)
    if size_of(whole := spec.model_copy(update={"message": message})) <= MOST_BYTES:
        return whole, None
    name = f"submitted/{spec.invocation_id}-{sha256(data).hexdigest()[:16]}.json"  # another message is another name
    named = spec.model_copy(update={"message_artifact": name})
    check_spec(named)
    return named, data


async def keep_message(runner: AppRunner, spec: InvocationSpec, data: bytes) -> None:
    """Save the artifact with the message of a run that is to be submitted."""
    if runner.artifact_service is None:
        raise SpecRefusedError(
            f"message: its {len(data)} bytes are more than a run may carry ({MOST_BYTES} with its other fields), and "
            f"no artifact service is configured that could keep it"
        )
    assert spec.message_artifact is not None, "the message is an artifact"
    part = Part(inline_data=Blob(data=data, mime_type=_TYPE))
    await runner.artifact_service.save_artifact(**place_of(spec), filename=spec.message_artifact, artifact=part)


async def message_of(runner: AppRunner, spec: InvocationSpec) -> Content | None:
    """What the user says."""
    if spec.message_artifact is None:
        return None if spec.message is None else Content.model_validate(spec.message)
    where = f"the message of {brief(spec.key)!r}"
    if runner.artifact_service is None:
        raise ConfigurationError(f"{where} is an artifact, and this worker has no artifact service")
    part = await runner.artifact_service.load_artifact(**place_of(spec), filename=spec.message_artifact)
    if part is None or part.inline_data is None or part.inline_data.data is None:
        raise ConfigurationError(f"{where} is gone: there is no artifact {brief(spec.message_artifact)!r}")
    return Content.model_validate_json(part.inline_data.data)


async def remove_message(runner: AppRunner, spec: InvocationSpec) -> None:
    """Delete the artifact of a message that the log has by now."""
    if spec.message_artifact is not None and runner.artifact_service is not None:
        with suppress(Exception):  # it is only left behind
            await runner.artifact_service.delete_artifact(**place_of(spec), filename=spec.message_artifact)
