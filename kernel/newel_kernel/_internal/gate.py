"""The gate of a session: who may run it, here and now."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newel_kernel._internal.errors import AlreadyExistsError, ConfigurationError, SessionNotFoundError, brief
from newel_kernel._internal.events import Event
from newel_kernel._internal.kinds import Descriptor
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.store import BaseSessionService
    from newel_kernel._internal.run_config import RunConfig
    from newel_kernel._internal.session import Session

    Events = AsyncGenerator[Event, None]


@dataclass(slots=True, eq=False)
class Admission:
    """One use of a session, from the gate's `enter` to its `leave`."""

    service: BaseSessionService
    app_name: str
    user_id: str
    session_id: str
    config: RunConfig
    #: Whether the session is created if it does not exist.
    creates: bool = False
    #: Whether a run continues without a message: its first append may come after an effect.
    resumes: bool = False
    #: Whether the session must be held before the first append, as something costly precedes it.
    at_once: bool = False
    #: Whether what used the session is ending: it has no more to do than hooks and epilogues.
    ending: bool = False
    #: The opened session, once the gate has let this use in.
    session: Session | None = None
    #: What the gate keeps for this use.
    held: object = None


async def open_session(admission: Admission) -> Session:
    """The session as its store opens it, created if it does not exist and the admission says so."""
    session = await admission.service.open(
        app_name=admission.app_name,
        user_id=admission.user_id,
        session_id=admission.session_id,
        config=admission.config.get_session_config,
    )
    return await _created(admission) if session is None else session


async def _created(admission: Admission) -> Session:
    service, session_id = admission.service, admission.session_id
    where: Json = {"app_name": admission.app_name, "user_id": admission.user_id, "session_id": session_id}
    _check_ids(admission.user_id, session_id)
    if not admission.creates:
        raise SessionNotFoundError(
            f"Session not found: {brief(session_id)} (app {admission.app_name!r}, user {brief(admission.user_id)!r}); "
            f"create it with session_service.create_session(...), or pass Runner(auto_create_session=True)"
        )
    try:
        created = await service.create_session(**where)
    except AlreadyExistsError:  # another process has created it meanwhile
        if (session := await service.open(**where, config=admission.config.get_session_config)) is None:
            raise
        return session
    return await service.open(**{**where, "session_id": created.id}) or created


def _check_ids(user_id: object, session_id: object) -> None:
    for name, value in (("user_id", user_id), ("session_id", session_id)):
        if not isinstance(value, str):
            raise ConfigurationError(f"{name} must be a string, not {value!r} ({type(value).__name__})")
    if not str(session_id).strip():
        raise ConfigurationError("the session id is blank: name a session, or create one and use its id")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGate(Descriptor):
    """Lets runs, and everything else that writes to a session, in and out of it. A composition has one gate.

    By default every use is let in: sessions are opened or created, and nothing keeps two uses of one apart.
    """

    name: str = "gate"
    #: Gives the session to work with, or raises if this use of it is refused; then it must have given back whatever it
    #: took, as `leave` is not called. A cancellation may reach it at each await.
    enter: Callable[[Admission], Awaitable[Session]] = open_session
    #: Gives the session back, whatever ended its use. A coroutine function; or a plain one, which costs less.
    leave: Callable[[Admission], Awaitable[None] | None] = lambda admission: None
    #: Wraps the events of each run, before they begin, so that the gate can end them; None: they are not wrapped.
    around: Callable[[Events, Admission], Events] | None = None

    def __post_init__(self) -> None:
        if self.name != "gate":
            raise ConfigurationError(
                f"a SessionGate is named 'gate', not {self.name!r}: a composition has one; a distribution chooses it "
                f"with `replace: {{gate: your_plugin}}`"
            )
