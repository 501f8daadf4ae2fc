"""The apps that are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.files.agent_source import AgentSource
from newel.server.calls import Call, endpoint
from newel.server.refusals import logged
from newel.server.state import State
from newel_compose import describe_error

if TYPE_CHECKING:
    from newel.server.stored import Stored


class ListApps(BaseModel):
    """The query of the list of apps."""

    detailed: bool = False


class AppAnswer(BaseModel):
    """An app that can be used."""

    name: str
    rootAgentName: str
    description: str
    language: str
    isComputerUse: bool


class FailedApp(BaseModel):
    """An app that cannot be used: the reason, or where the log says it."""

    name: str
    language: str
    error: str | None = None
    detail: str | None = None
    ref: str | None = None


class StoredAnswer(BaseModel):
    """Stored sessions that are shown without their agents."""

    #: A file's name, or a URI without its password.
    place: str
    #: Whether the files of the sessions are there.
    artifacts: bool


class Detailed(BaseModel):
    """The apps with what each one is."""

    apps: list[AppAnswer]
    failed: list[FailedApp]
    #: None: the agents are here, and can be run.
    stored: StoredAnswer | None = None


@endpoint(query=ListApps, answer=list[str] | Detailed)
async def list_apps(call: Call) -> object:
    """The names of the apps; with `detailed`, what each one is, and why others cannot be used."""
    if not call.query.detailed:
        return await call.server.app_names()
    if call.server.stored is not None:
        return await _stored(call.server, call.server.stored)
    places = call.server.apps.places()
    apps: list[dict[str, object]] = []
    failed: list[dict[str, object]] = []
    for name, place in places.items():
        try:
            source = await call.server.apps.source(name)
        except Exception as error:  # noqa: BLE001 - importing an app runs its code
            failed.append({"name": name, "language": place.language, **_reason(call, error)})
        else:
            apps.append(_description(name, source, place.language))
    return {"apps": apps, "failed": failed}


async def _stored(server: State, stored: Stored) -> Detailed:
    """The apps that have stored sessions; without their code, no more is known of them."""
    apps = [
        AppAnswer(name=name, rootAgentName="", description="", language="", isComputerUse=False)
        for name in await server.app_names()
    ]
    return Detailed(apps=apps, failed=[], stored=StoredAnswer(place=stored.place, artifacts=stored.has_artifacts))


def _reason(call: Call, error: Exception) -> dict[str, str]:
    """Why an app cannot be used: to its developer, who alone can reach the server, in words."""
    options = call.server.options
    return {"error": describe_error(error)} if options.development and options.is_local else logged(error)


def _description(name: str, source: AgentSource, language: str) -> dict[str, object]:
    root = source.agent
    return {
        "name": name,
        "rootAgentName": root.name,
        "description": root.description,
        "language": language,
        "isComputerUse": False,
    }
