"""SessionChanges: what a runner does to a session outside its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from newel import artifacts, sessions
from newel.contexts.run_config import RunConfig
from newel_kernel import Event, Runner, Session
from newel_kernel import RunConfig as KernelRunConfig
from newel_types import deferred

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService

_summary_of = deferred("newel.flows.compaction", "summary_of")


class SessionChanges(Runner):
    """What a `Runner` does to whole sessions: delete, fork, rewind, compact."""

    artifact_service: BaseArtifactService | None

    async def _stored(self, user_id: str, session_id: str) -> Sequence[Event]:
        where: dict[str, Any] = {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}
        session = await self.session_service.get_session(**where)
        return session.events if session is not None else ()

    async def delete_session(self, *, user_id: str, session_id: str) -> None:
        """Delete a session, then its artifacts; its user's stay, and so do those in a foreign kind of store."""
        where = {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}
        await self.session_service.delete_session(**where)
        if isinstance(self.artifact_service, artifacts.ArtifactStore):
            await self.artifact_service.delete_session(**where)

    async def fork_session(
        self, *, user_id: str, session_id: str, new_session_id: str | None = None, events: int | None = None
    ) -> Session:
        """A new session with the first `events` events of a session (all if None), and copies of their artifacts.

        Raises SessionNotFoundError, and AlreadyExistsError if a session with the new id exists.
        """
        return await sessions.fork_session(
            self.session_service,
            self.artifact_service,
            app_name=self.app_name,
            user_id=user_id,
            session_id=session_id,
            new_session_id=new_session_id,
            events=events,
        )

    async def rewind_async(
        self,
        *,
        user_id: str,
        session_id: str,
        rewind_before_invocation_id: str,
        run_config: KernelRunConfig | None = None,
    ) -> None:
        """Take the session back to before an invocation: what it and later ones said, wrote and saved is undone.

        Of `run_config` only the metadata applies: the event of the rewind bears it.
        """
        async with self.session_in_use(user_id, session_id) as session:
            event = await sessions.rewind_event(session, rewind_before_invocation_id, self.artifact_service)
            if run_config is not None and run_config.custom_metadata:
                event.custom_metadata = {**run_config.custom_metadata, **(event.custom_metadata or {})}
            await self.session_service.append_event(session, event)

    async def compact_async(self, *, user_id: str, session_id: str, keep: int = 0) -> Event | None:
        """Summarise a session now, except its last `keep` events; return the summary's event, None: there was nothing.

        The summarizer of the app's `events_compaction_config` writes it, else the model of its first LLM agent. No
        other run has the session meanwhile, and its events stay in the log.
        """
        async with self.session_in_use(user_id, session_id, at_once=True) as session:  # before the model is paid for
            ctx = self.new_context(session, RunConfig(), None, None)
            event: Event | None = await _summary_of()(ctx, keep)
            return None if event is None else await self.session_service.append_event(session, event)
