"""InvocationContext: everything one invocation shares, as the agent that runs sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from newel_kernel._internal import seam
from newel_kernel._internal.context import Context
from newel_kernel._internal.contracts.request import LlmRequest
from newel_kernel._internal.errors import LlmCallsLimitExceededError
from newel_kernel._internal.events import Event
from newel_kernel._internal.stash import Stash
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.chains import Chains
    from newel_kernel._internal.contracts.agent import BaseAgent, BaseAgentState
    from newel_kernel._internal.contracts.services import (
        ArtifactService,
        CredentialService,
        MemoryService,
        ResumabilityConfig,
    )
    from newel_kernel._internal.contracts.store import BaseSessionService
    from newel_kernel._internal.rendezvous import Meeting
    from newel_kernel._internal.run_config import RunConfig
    from newel_kernel._internal.session import Session
    from newel_types import Content



class CallBudget:
    """Counts the model calls of an invocation, across all its agents."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0


class InvocationContext:
    """One invocation as one agent sees it.

    `for_agent` and `model_copy` give the view of another agent: the services, the session and the call
    budget are shared, `agent`, `branch` and `end_invocation` are the view's own. A subclass may name other classes
    for the kernel to make: see `Runner.invocation_type`.
    """

    #: What tools and callbacks get.
    context_type: ClassVar[type[Context]] = Context
    #: What the request chain prepares.
    request_type: ClassVar[type[LlmRequest]] = LlmRequest
    #: How the ids begin of calls that a model gave none: these are ours, and not to be sent back.
    call_id_prefix: ClassVar[str] = "call-"

    session_service: BaseSessionService
    artifact_service: ArtifactService | None
    memory_service: MemoryService | None
    credential_service: CredentialService | None
    composition: Chains
    agent: BaseAgent
    session: Session
    run_config: RunConfig
    user_content: Content | None
    #: Where the conversation of an isolated run begins, and with what; None: with the session.
    opening: Any = None
    #: Where tools leave events that are to be committed while they run; None: the agent has no such tools.
    meeting: Meeting | None = None
    #: Whether the invocation had begun before this run of it.
    resumed = False
    isolation_scope: str | None = None
    node_path: str | None = None
    end_invocation = False

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
        resumability_config: ResumabilityConfig | None = None,
    ) -> None:
        self.session_service = session_service
        self.session = session
        self.agent = agent
        self.composition = composition
        self.run_config = run_config
        self.invocation_id = invocation_id or new_invocation_id()
        self.user_content = user_content
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.branch = branch
        self.app = app
        self.resumability_config = resumability_config
        self.agent_states: dict[str, Json] = {}
        self.end_of_agents: dict[str, bool] = {}
        self.budget = CallBudget()
        #: What plugins keep for the rest of the invocation.
        self.stash = Stash()

    def model_copy(self, *, update: Json | None = None, deep: bool = False) -> Self:
        """A view that shares everything and differs in `update`."""
        new = object.__new__(self.__class__)
        new.__dict__ = self.__dict__.copy()  # half the cost of update()
        if update:
            new.__dict__.update(update)
        return new

    def for_agent(self, agent: BaseAgent) -> Self:
        """The view of `agent`; the branch stays."""
        if self.agent is agent:
            return self
        new = self.model_copy()
        new.agent = agent
        return new

    @property
    def app_name(self) -> str:
        """The session's app."""
        return self.session.app_name

    @property
    def user_id(self) -> str:
        """The session's user."""
        return self.session.user_id

    @property
    def is_resumable(self) -> bool:
        """Whether the app's invocations pause on long-running calls and resume."""
        config = self.resumability_config
        return config is not None and bool(config.is_resumable)

    def increment_llm_call_count(self) -> None:
        """Count a model call; raises LlmCallsLimitExceededError beyond RunConfig.max_llm_calls."""
        self.budget.used += 1
        limit = self.run_config.max_llm_calls
        if 0 < limit < self.budget.used:
            raise LlmCallsLimitExceededError(
                f"Max number of llm calls limit of `{limit}` exceeded (RunConfig.max_llm_calls)"
            )

    def get_events(self, *, current_invocation: bool = False, current_branch: bool = False) -> list[Event]:
        """The session's events; of this invocation, of this branch and scope only, where asked."""
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
        return list(events)

    _get_events = get_events

    def set_agent_state(
        self, agent_name: str, *, agent_state: BaseAgentState | None = None, end_of_agent: bool = False
    ) -> None:
        """Note an agent's checkpoint, or that it ended; with neither, both are forgotten."""
        self.agent_states.pop(agent_name, None)
        self.end_of_agents.pop(agent_name, None)
        if end_of_agent:
            self.end_of_agents[agent_name] = True
        elif agent_state is not None:
            self.agent_states[agent_name] = agent_state.model_dump(mode="json")
            self.end_of_agents[agent_name] = False

    def should_pause_invocation(self, event: Event) -> bool:
        """Whether `event` asks for something that only the user or the outside can answer (S0 §10.2)."""
        waiting = event.long_running_tool_ids
        if not waiting or not self.is_resumable:
            return False
        return any(call.id in waiting for call in event.get_function_calls())


def new_invocation_id() -> str:
    """``e-`` and a UUID."""
    return "e-" + seam.new_id()
