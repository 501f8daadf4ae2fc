"""Answers: the first one to a question is stored, and the run that asked wakes, whatever becomes of who answered."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from newel.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from newel.engines.engine import OVER, RunRecord, SpecRefusedError
from newel.questions.precedence import first_answer
from newel.questions.question import Kind, find_question
from newel.sessions.out_of_band import OutOfBand
from newel_kernel import Event, Json, Log, Session, SessionNotFoundError, StaleSessionError, brief

if TYPE_CHECKING:
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.engines.engine import BaseEngine
    from newel.engines.places import AppRunner

#: Who answers says so before the answer is stored: the engine looks at the run this many seconds later in any case.
LOOK_SECONDS = 30.0


class AnsweredBeforeError(SpecRefusedError):
    """Another answer to a question is stored; the text names the question."""


class RunIsOverError(SpecRefusedError):
    """An answer came for a run that is over; nothing of it is stored."""


class FirstAnswers(OutOfBand):
    """The store, which takes the event of answers only if no question of it is answered by then."""

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append out of band after the events that were looked at, and look again if others have come."""
        where: Json = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
        ids = [response.id for response in event.get_function_responses()]
        view: Session | None = session
        while view is not None:
            count = len(view.events)
            check_first(Log(view.events), ids)
            try:
                return await self._store.append_out_of_band(**where, event=event, after=count)
            except StaleSessionError:
                view = await self._store.open(**where)
        raise SessionNotFoundError(f"the session {brief(session.id)!r} was deleted; the answer is not stored")


def check_first(log: Log, ids: Collection[str | None]) -> None:
    """Raise AnsweredBeforeError if one of these questions has an answer; a long-running call takes any number."""
    for id_ in ids:
        place = find_question(log, id_)
        if place is not None and place[1].kind is not Kind.RESULT and first_answer(log, *place) is not None:
            raise AnsweredBeforeError(
                f"message: the question {brief(str(id_))!r} was answered before, and the first answer counts; this "
                f"message is not stored"
            )


def is_shared(service: BaseCredentialService | None) -> bool:
    """Whether another process finds what this one keeps there."""
    return service is not None and not isinstance(service, InMemoryCredentialService)


def takes_credentials(engine: BaseEngine, runner: AppRunner) -> bool:
    """Whether a credential that answers a run of the runner's app reaches its worker."""
    return engine.in_process or is_shared(runner.credential_service)


def check_open(log: Log, ids: Collection[str | None]) -> None:
    """Raise SpecRefusedError for a credential: the log may not have it, and no worker would find it elsewhere."""
    for id_ in ids:
        if (place := find_question(log, id_)) is not None and place[1].kind is Kind.CREDENTIAL:
            raise SpecRefusedError(
                f"message: it answers the question {brief(str(id_))!r} with a credential, and this process and the "
                f"workers have no credential service in common; nothing is stored. Name one in the distribution "
                f"(`services: credential`), or cancel the run, set the credential's variable for the workers, and "
                f"submit the message again"
            )


def check_waits(record: RunRecord) -> None:
    """Raise RunIsOverError if the run is over, which takes no answer."""
    if record.state in OVER:
        raise RunIsOverError(
            f"message: it answers the run {brief(record.spec.key)!r}, which is {record.state} and takes no answer; "
            f"nothing is stored. Send a new message, or retry the run before you answer"
        )
