"""The builder: the agent files of an app are read, and with `--builder` written."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel
from starlette.responses import Response

from newel.server.agent_files import AgentFiles
from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel_kernel import Key

_MEDIA_TYPE = "application/x-yaml"
#: Files are written by one request at a time.
_WRITING: Key[asyncio.Lock] = Key("builder", asyncio.Lock)


class AgentFile(BaseModel):
    """The file in the app's folder, by default that of the root agent; with `tmp` its draft, if there is one."""

    file_path: str | None = None
    tmp: bool = False


class Draft(BaseModel):
    """Whether the files are kept apart until they are saved without it."""

    tmp: bool = False


@endpoint(query=AgentFile, media_type=_MEDIA_TYPE)
async def read_agent_file(call: Call) -> Response:
    """An agent file of the app; empty if the app is written in Python. No other file is served."""
    folder = call.server.apps.place(call.path["app_name"]).folder
    data = None
    if folder is not None:
        files = AgentFiles(folder, call.server.composition)
        data = await asyncio.to_thread(files.read, call.query.file_path, draft=call.query.tmp)
    if data is None and call.query.file_path is not None and folder is not None:
        raise Refusal(404, "File not found")
    return Response(data or b"", media_type=_MEDIA_TYPE)


@endpoint(files="files", query=Draft, answer=bool)
async def save_agent_files(call: Call) -> object:
    """Store agent files, once all of them are found to be right; the app is loaded again when it is next used."""
    return await _save(call, call.path["app_name"])


@endpoint(files="files", query=Draft, answer=bool)
async def save_named_agent_files(call: Call) -> object:
    """The same for the app whose name stands first in the names of the files."""
    names = {name.partition("/")[0] for name in call.body}
    if len(names) != 1:
        raise Refusal(400, "the files must be of one app: APP/root_agent.yaml")
    return await _save(call, names.pop())


@endpoint(answer=bool)
async def cancel_agent_files(call: Call) -> object:
    """Drop the drafts of an app."""
    files = AgentFiles(call.server.apps.folder_of(call.path["app_name"]), call.server.composition)
    async with call.server.stash[_WRITING]:
        await asyncio.to_thread(files.cancel)
    return True


async def _save(call: Call, app: str) -> bool:
    server = call.server
    files = AgentFiles(server.apps.folder_of(app), server.composition)
    async with server.stash[_WRITING]:
        if not call.query.tmp and server.is_running(app):
            raise Refusal(409, "the app has a run under way: save its files when it has ended")
        await asyncio.to_thread(files.save, call.body, as_draft=call.query.tmp)
        if not call.query.tmp:
            await server.forget(app)
    return True
