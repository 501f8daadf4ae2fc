"""Artifacts of a session, and those of its user (names that begin with ``user:``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema
from starlette.responses import Response

from newel.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from newel.artifacts.stored_part import NAME_PATTERN, scope_of
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, place
from newel.server.places import Place
from newel.server.refusals import JSON, Refusal
from newel.server.schemas import NeedsOne
from newel_kernel import ConfigurationError, Json
from newel_types import Part


def _usable(name: str) -> str:
    """The name, if a store can have it."""
    scope_of(name, "any")
    return name


ArtifactName = Annotated[str, AfterValidator(_usable), WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]


class NewArtifact(Body):
    """An artifact to save."""

    filename: ArtifactName
    artifact: Annotated[Part, NeedsOne("inline_data", "text", "file_data")]
    custom_metadata: Json | None = None


class Named(BaseModel):
    """The path of an artifact."""

    artifact_name: ArtifactName


class NamedVersion(Named):
    """The path of a version: its number, or `latest`. One with more digits fits no store."""

    version_id: str = Field(pattern="^(latest|[0-9]{1,18})$")


class Version(BaseModel):
    """The version that is asked for, by default the latest."""

    version: int | None = Field(None, ge=0)


@endpoint(answer=list[str])
async def list_artifacts(call: Call) -> object:
    """The names of the artifacts, sorted."""
    return await _store(call).list_artifact_keys(**place(call))


@endpoint(body=NewArtifact, answer=ArtifactVersion)
async def save_artifact(call: Call) -> Response:
    """Save a new version."""
    store, body = _store(call), call.body
    where = _Artifact(**place(call), filename=body.filename)
    try:
        version = await store.save_artifact(**where, artifact=body.artifact, custom_metadata=body.custom_metadata)
    except (ConfigurationError, ValueError) as error:
        raise Refusal(422, f"the artifact {body.filename!r} cannot be saved: {error}") from None
    return _json(await store.get_artifact_version(**where, version=version))


@endpoint(path=Named, query=Version, answer=Part)
async def load_artifact(call: Call) -> Response:
    """An artifact."""
    return await _part(call, call.query.version)


@endpoint(path=NamedVersion, answer=Part)
async def load_version(call: Call) -> Response:
    """A version of an artifact: its number, or `latest`."""
    return await _part(call, _version(call))


@endpoint(path=Named, answer=list[int])
async def list_versions(call: Call) -> object:
    """The numbers of the versions, ascending."""
    return await _store(call).list_versions(**_where(call))


@endpoint(path=Named, answer=list[ArtifactVersion])
async def list_metadata(call: Call) -> Response:
    """The metadata of each version."""
    versions = await _store(call).list_artifact_versions(**_where(call))
    return Response(b"[" + b",".join(map(_written, versions)) + b"]", media_type=JSON)


@endpoint(path=NamedVersion, answer=ArtifactVersion)
async def get_metadata(call: Call) -> Response:
    """The metadata of a version."""
    return _json(await _store(call).get_artifact_version(**_where(call), version=_version(call)))


@endpoint(path=Named, answer=None)
async def delete_artifact(call: Call) -> None:
    """Delete every version of an artifact."""
    await _store(call).delete_artifact(**_where(call))


def _store(call: Call) -> BaseArtifactService:
    store = call.server.services.artifact
    assert store is not None  # the app opens one for every kind
    return store


class _Artifact(Place):
    filename: str


def _where(call: Call) -> _Artifact:
    return _Artifact(**place(call), filename=call.path["artifact_name"])


def _version(call: Call) -> int | None:
    text = call.path["version_id"]
    return None if text == "latest" else int(text)


async def _part(call: Call, version: int | None) -> Response:
    part = await _store(call).load_artifact(**_where(call), version=version)
    if part is None:
        raise Refusal(404, "Artifact not found")
    return Response(part.model_dump_json(by_alias=True, exclude_none=True), media_type=JSON)


def _json(version: ArtifactVersion | None) -> Response:
    if version is None:
        raise Refusal(404, "Artifact not found")
    return Response(_written(version), media_type=JSON)


def _written(version: ArtifactVersion) -> bytes:
    return version.model_dump_json(by_alias=True, exclude_none=True).encode()
