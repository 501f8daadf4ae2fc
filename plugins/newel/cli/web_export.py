"""`newel web --export`: a stored session as one page that opens from disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from newel.cli.exit import run_loop
from newel.cli.terminal import say, shown
from newel.cli.whole_file import write_whole
from newel.server.application import Application
from newel.server.options import Options
from newel.server.places import Place
from newel.server.stored_application import stored_app
from newel.web.export import exported
from newel_compose import Composition
from newel_kernel import ConfigurationError, SessionError, did_you_mean

_SUFFIXES = (".html", ".htm")


def export_page(address: str, name: str, file: Path, composition: Composition, artifacts: str | None) -> None:
    """Write the page of the session `name` in the sessions at `address`: whole, or not at all."""
    if file.suffix.lower() not in _SUFFIXES:
        raise ConfigurationError(f"--export writes a page: let {str(file)!r} end in .html")
    options = Options(development=True)
    app = stored_app(address, artifact_service=artifacts, composition=composition, options=options)

    async def work() -> tuple[Place, bytes]:
        try:
            place = _named(name, await _places(app))
            return place, await exported(app, place)
        finally:
            await app.close()

    try:
        place, page = run_loop(work())
    except SessionError as error:
        raise ConfigurationError(str(error)) from error
    write_whole(page, file, "name another file after --export SESSION")
    say(f"{shown(place['session_id'])} of {shown(place['user_id'])}: {file}, {len(page):,} bytes")


async def _places(app: Application) -> list[Place]:
    """All stored sessions."""
    stored = app.state.stored
    assert stored is not None
    found: list[Place] = []
    for one in await stored.sessions.owners():
        listed = await app.state.services.session.list_sessions(app_name=one.app_name, user_id=one.user_id)
        found += [Place(app_name=one.app_name, user_id=one.user_id, session_id=each.id) for each in listed.sessions]
    return found


def _named(name: str, places: Sequence[Place]) -> Place:
    """The session that `name` means: ``app/user/session``, an id, or the beginning of an id that no other id has."""
    matches = (
        [one for one in places if _whole(one) == name]
        or [one for one in places if one["session_id"] == name]
        or [one for one in places if name and one["session_id"].startswith(name)]
    )
    if len(matches) > 1:
        several = ", ".join(shown(_whole(one)) for one in matches[:5])
        raise ConfigurationError(f"{name!r} names {len(matches)} sessions: {several}; name one as app/user/session")
    if not matches:
        hint = did_you_mean(name, [one["session_id"] for one in places]) or f"; there are {len(places)}"
        raise ConfigurationError(f"there is no session {name!r}{hint}: name one as app/user/session, or by its id")
    return matches[0]


def _whole(place: Place) -> str:
    return f"{place['app_name']}/{place['user_id']}/{place['session_id']}"
