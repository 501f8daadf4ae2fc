"""The builder: the agent files of an app, to be read."""

from __future__ import annotations

from pydantic import BaseModel
from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal

_MEDIA_TYPE = "application/x-yaml"
_ROOT = ("root_agent.yaml", "root_agent.yml", "agent.yaml", "agent.yml", "app.yaml", "app.yml")


class AgentFile(BaseModel):
    """The file in the app's folder, by default that of the root agent."""

    file_path: str | None = None


@endpoint(query=AgentFile, media_type=_MEDIA_TYPE)
async def read_agent_file(call: Call) -> Response:
    """An agent file of the app; empty if the app is written in Python. No other file is served."""
    folder = call.server.apps.place(call.path["app_name"]).folder
    if folder is None:
        return Response(b"", media_type=_MEDIA_TYPE)
    name = call.query.file_path
    if name is None:
        file = next((folder / one for one in _ROOT if (folder / one).is_file()), None)
        return Response(file.read_bytes() if file is not None else b"", media_type=_MEDIA_TYPE)
    file = (folder / name).resolve()
    is_inside = file.is_relative_to(folder.resolve()) and file.suffix in (".yaml", ".yml")
    if not is_inside or any(part.startswith(".") for part in file.relative_to(folder.resolve()).parts):
        raise Refusal(400, "file_path must be a YAML file in the app's folder")
    if not file.is_file():
        raise Refusal(404, "File not found")
    return Response(file.read_bytes(), media_type=_MEDIA_TYPE)
