"""BaseRunner: a runner whose invocations share services, and which has a session to itself while it runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Self

from newel.claims.claim import Claim, table_of, wait
from newel.claims.errors import SessionBusyError
from newel.claims.leasing import is_leasing
from newel.claims.settings import Settings
from newel.contexts.arguments import check_config, check_ids, check_root
from newel.contexts.closing import close_all
from newel.contexts.invocation_context import InvocationContext, Resumability
from newel.contexts.run_config import RunConfig, unset
from newel_kernel import (
    AlreadyExistsError,
    BaseAgent,
    BaseSessionService,
    Event,
    Session,
    StaleSessionError,
    check_tree,
    epilogues,
    finish,
    seam,
)
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_kernel import RunConfig as KernelRunConfig
from newel_kernel import Runner as KernelRunner
from newel_types import Content

if TYPE_CHECKING:
    from newel.claims.leasing import LeasingStore
    from newel.contexts.services import ArtifactService, CredentialService, MemoryService
    from newel_kernel import Application, Chains

#: How often a run that waits for another process checks whether the session is free, in seconds.
_POLL_SECONDS = 0.05
#: A finished run gives its session back without waiting for the store: how long that may take, in seconds.
_HANDOVER_SECONDS = 0.5


class _Store:
    """A runner's store of sessions: the claims on them, and the store's leases, if it has any."""

    __slots__ = ("claims", "leases", "service")

    def __init__(self, service: BaseSessionService) -> None:
        self.service = service
        self.claims: dict[Hashable, Claim] = table_of(service)
        self.leases: LeasingStore | None = service if is_leasing(service) else None


class BaseRunner(KernelRunner):
    """Runs an agent (or an app) against sessions, with a composition and the services that it is given.

    `plugins` are closed with the runner; their hooks are in the composition.
    """

    default_config = staticmethod(unset)
    artifact_service: ArtifactService | None
    memory_service: MemoryService | None
    credential_service: CredentialService | None

    def __init__(
        self,
        *,
        composition: Chains,
        session_service: BaseSessionService,
        app: Application | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        plugins: Sequence[object] = (),
        artifact_service: ArtifactService | None = None,
        memory_service: MemoryService | None = None,
        credential_service: CredentialService | None = None,
        auto_create_session: bool = False,
    ) -> None:
        check_root(app.root_agent if app is not None else agent)
        super().__init__(
            composition=composition,
            session_service=session_service,
            app=app,
            app_name=app_name,
            agent=agent,
            auto_create_session=auto_create_session,
        )
        check_tree(self.agent)
        self.plugins: list[object] = list(plugins)
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.resumability_config: Resumability | None = getattr(app, "resumability_config", None)
        claims = self.composition.settings.get("claims")
        #: How runs of one session are kept apart; None: the plugin is not composed, and they are not.
        self.claims = claims if isinstance(claims, Settings) else None
        #: The claims of the current runs, by the identity of their views.
        self._claimed: dict[int, Claim] = {}
        self._store = _Store(session_service)

    def new_context(
        self, session: Session, config: KernelRunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """The context that an invocation shares."""
        if not isinstance(config, RunConfig):
            config = RunConfig(**dict(config))
        ctx = InvocationContext(
            self.session_service,
            session,
            self.agent,
            self.composition,
            config,
            invocation_id,
            content,
            self.artifact_service,
            self.memory_service,
            self.credential_service,
            None,
            self.app,
            self.resumability_config,
        )
        if self.agent.sub_agents:  # each sub-agent has a view of it: all views then keep their values in the same way
            ctx.__dict__ = {**ctx.__dict__}
        return ctx

    async def _open(self, user_id: str, session_id: str, config: KernelRunConfig, resumes: bool) -> Session:
        """The session to work with, claimed."""
        if self.claims is None:
            return await self._open_or_create(user_id, session_id, config, resumes)
        store = self._store
        if store.service is not self.session_service:  # the runner's store was replaced
            store = self._store = _Store(self.session_service)
        where = (self.app_name, user_id, session_id)
        claim = Claim(store.claims, where)
        if store.claims.setdefault(where, claim) is not claim:
            claim = await wait(store.claims, where, session_id, self.claims)
        session: Session | None = None
        try:
            session = await store.service.open(
                app_name=self.app_name, user_id=user_id, session_id=session_id, config=config.get_session_config
            )
            if session is None:
                session = await self._open_or_create(user_id, session_id, config, resumes)
            if (leases := store.leases) is not None:
                session = await self._leased(leases, self.claims, session, config, resumes)
                leases.hold(session, self.claims.lease_seconds)
                if resumes:  # its first append may come after an effect
                    await leases.take(session)
        except BaseException:
            if session is not None and store.leases is not None:
                store.leases.let_go(session)
            claim.end()
            check_config(config)
            raise
        self._claimed[id(session)] = claim
        return session

    async def _open_or_create(self, user_id: str, session_id: str, config: KernelRunConfig, resumes: bool) -> Session:
        """The session; created if it does not exist and the runner creates sessions."""
        check_ids(user_id, session_id)
        try:
            return await super()._open(user_id, session_id, config, resumes)
        except AlreadyExistsError:  # another process has created it meanwhile
            return await super()._open(user_id, session_id, config, resumes)

    async def _leased(
        self, store: LeasingStore, settings: Settings, session: Session, config: KernelRunConfig, resumes: bool
    ) -> Session:
        """The session, opened again once no other process has its lease.

        A run that resumes also waits for a process that gives no sign of life: its lease runs out unprolonged.
        """
        now = seam.monotonic()
        end = now + (settings.wait_seconds if settings.busy == "queue" else _HANDOVER_SECONDS)
        remaining = store.held_for(session)
        silent_until = now + remaining + _POLL_SECONDS if resumes else now
        while (holder := store.holder(session)) is not None:
            now, previous, remaining = seam.monotonic(), remaining, store.held_for(session)
            if now > end and (now > silent_until or remaining > previous):
                raise SessionBusyError.of(session.id, holder)
            await asyncio.sleep(_POLL_SECONDS if now < end else _POLL_SECONDS * 5)
            session = await super()._open(session.user_id, session.id, config, resumes=False)
        return session

    async def _end(self, session: Session, ctx: KernelInvocationContext | None, error: BaseException | None) -> None:
        """End the run: store what must not be lost, run its epilogues, and free the session."""
        claim = self._claimed.pop(id(session), None)
        try:
            if claim is not None:
                claim.closing = True
            if error is not None and ctx is not None and isinstance(error, StaleSessionError):
                await _keep_results(ctx, error)
            if ctx is None:
                return
            if ctx.live_request_queue is not None and _end_live(ctx, error):
                await epilogues(ctx, error)
            else:
                await finish(ctx, error)
        finally:
            if claim is not None:
                if self._store.leases is not None:
                    self._store.leases.let_go(session)
                claim.end()

    async def close(self, seconds: float = 10.0) -> None:
        """Close the tree's toolsets and the plugins; one that hangs is left after its timeout."""
        await close_all(self.agent, self.plugins, seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _end_live(ctx: KernelInvocationContext, error: BaseException | None) -> bool:
    """Give the queue back; return whether `after_run` callbacks are skipped because the consumer has left."""
    ctx.live_request_queue.release(ctx.stash)
    settings = ctx.composition.settings.get("live")
    return isinstance(error, GeneratorExit) and not getattr(settings, "after_run_on_leaving", True)


async def _keep_results(ctx: KernelInvocationContext, error: StaleSessionError) -> None:
    """Store tool results whose event was refused, after the events that came in: they do not depend on those."""
    event = error.event
    if isinstance(event, Event) and event.author != "user" and event.get_function_responses():
        try:
            await ctx.session_service.append_event(ctx.session, event)
        except Exception as problem:  # noqa: BLE001 - it is added to the raised error
            error.add_note(f"the results of tools could not be stored either: {type(problem).__name__}: {problem}")
