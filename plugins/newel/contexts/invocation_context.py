"""The context of one invocation."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import newel_compose
from newel.contexts.call_ids import OURS
from newel.contexts.context import Context
from newel.contexts.stash_keys import CREDENTIALS
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_kernel import Key, Log

if TYPE_CHECKING:
    from pydantic import BaseModel

    from newel.contexts.run_config import RunConfig
    from newel.contexts.services import ArtifactService, CredentialService, MemoryService
    from newel_kernel import BaseAgent, BaseSessionService, Callbacks, Chains, Event, Json, Session
    from newel_types import AuthCredential, Content

__all__ = ["InvocationContext", "full_invocation"]


#: By the opening of an isolated run (None: no run is isolated). Few invocations note anything here.
_STATES = Key[dict[object, dict[str, "Json"]]]("agent states", partial(defaultdict, dict))
_ENDS = Key[dict[object, dict[str, bool]]]("ends of agents", partial(defaultdict, dict))


class Resumability(Protocol):
    """Whether an app's invocations pause and resume."""

    @property
    def is_resumable(self) -> bool:
        """Whether invocations can be resumed."""


class InvocationContext(KernelInvocationContext):
    """One invocation as one agent sees it, with its services, its agents' checkpoints and its live session."""

    context_type = Context
    call_id_prefix = OURS
    run_config: RunConfig
    #: Whether an agent continues with the first result of a long-running call, although it could wait for the last.
    takes_first_results = False
    #: The queue of the user's input in a live session.
    live_request_queue: Any = None

    def __init__(
        self,
        session_service: BaseSessionService,
        session: Session,
        agent: BaseAgent,
        composition: Chains,
        run_config: RunConfig,
        invocation_id: str | None = None,
        user_content: Content | None = None,
        artifact_service: ArtifactService | None = None,
        memory_service: MemoryService | None = None,
        credential_service: CredentialService | None = None,
        branch: str | None = None,
        app: object = None,
        resumability_config: Resumability | None = None,
        live_request_queue: Any = None,
    ) -> None:
        super().__init__(
            session_service, session, agent, composition, run_config, invocation_id, user_content, branch, app
        )
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.resumability_config = resumability_config
        if live_request_queue is not None:
            self.live_request_queue = live_request_queue

    def own_callbacks(self, hook: str) -> Callbacks:
        """The callbacks of the running agent, within the policies for hooks."""
        own = super().own_callbacks(hook)
        for policy in reversed(self.composition.registry.all(newel_compose.HookPolicy)):
            own = tuple([policy.wrap(bound) for bound in own])
        return own

    @property
    def is_resumable(self) -> bool:
        """Whether the app's invocations pause on long-running calls and resume."""
        config = self.resumability_config
        return config is not None and config.is_resumable

    @property
    def agent_states(self) -> dict[str, Json]:
        """The checkpoint of each agent, from which a resumed run continues; an isolated run has its own."""
        return self.stash[_STATES][self.opening]

    @property
    def end_of_agents(self) -> dict[str, bool]:
        """Whether each agent has ended; an isolated run has its own."""
        return self.stash[_ENDS][self.opening]

    def set_agent_state(
        self, agent_name: str, agent_state: BaseModel | None = None, *, end_of_agent: bool = False
    ) -> None:
        """Note an agent's checkpoint, or that it ended; with neither, forget both."""
        self.agent_states.pop(agent_name, None)
        self.end_of_agents.pop(agent_name, None)
        if end_of_agent:
            self.end_of_agents[agent_name] = True
        elif agent_state is not None:
            self.agent_states[agent_name] = agent_state.model_dump(mode="json")
            self.end_of_agents[agent_name] = False

    def should_pause_invocation(self, event: Event) -> bool:
        """Whether `event` asks for something that only the user or the outside can answer.

        Specified in docs/reference/behaviour.md#pause-and-resume.
        """
        waiting = event.long_running_tool_ids
        if not waiting or not self.is_resumable:
            return False
        return any(call.id in waiting for call in event.get_function_calls())

    def get_events(self, *, current_invocation: bool = False, current_branch: bool = False) -> list[Event]:
        """The session's events; if asked, only those of this invocation, or of this branch and scope.

        The events of a resumed invocation that a rewind undid are not among those of this invocation.
        """
        events = self.session.events
        if current_invocation:
            tail: list[Event] = []
            for event in reversed(events):  # an invocation's events are the newest: stop where they begin
                if event.invocation_id == self.invocation_id:
                    tail.append(event)
                elif tail and not self.resumed and event.author == "user" and not event.get_function_responses():
                    break
            events = tail[::-1]
        if current_branch:
            events = [e for e in events if e.branch == self.branch and e.isolation_scope == self.isolation_scope]
        if current_invocation and self.resumed and any(map(_rewinds, self.session.events)):
            standing = {event.id for event in Log(self.session.events).standing()}
            events = [event for event in events if event.id in standing]
        return list(events)

    _get_events = get_events

    @property
    def credential_by_key(self) -> dict[str, AuthCredential]:
        """The credentials that tools of this invocation use, by `credential_key`; never stored."""
        return self.stash[CREDENTIALS]

    @property
    def context_cache_config(self) -> Any:
        """How the app has requests cached, or None."""
        return getattr(self.app, "context_cache_config", None)


def _rewinds(event: Event) -> bool:
    actions = event.touched_actions
    return actions is not None and bool(actions.rewind_before_invocation_id)


def full_invocation(ctx: KernelInvocationContext) -> InvocationContext:
    """`ctx`, if newel's own runner made it; else a TypeError."""
    if not isinstance(ctx, InvocationContext):
        raise TypeError(f"this needs an invocation of newel.runners.Runner, but got a {type(ctx).__name__}")
    return ctx
