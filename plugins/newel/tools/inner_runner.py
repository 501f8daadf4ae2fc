"""The runner of an agent that is a tool: within the invocation of its caller."""

from __future__ import annotations

from newel.budgets.payer import inherit
from newel.contexts.invocation_context import InvocationContext, Resumability
from newel.contexts.run_config import RunConfig, unset
from newel.sessions.kinds import SessionBackend
from newel.tools.agent_calls import DEPTH
from newel.tools.forwarded_artifacts import ForwardedArtifacts
from newel_kernel import BaseAgent, Chains, Context, Runner, Session, check_tree
from newel_kernel import RunConfig as KernelRunConfig
from newel_types import Content


class InnerRunner(Runner):
    """Runs an agent with the services of its caller; the model calls of both count together."""

    default_config = staticmethod(unset)

    def __init__(self, agent: BaseAgent, caller: InvocationContext, context: Context, composition: Chains) -> None:
        super().__init__(
            agent=agent,
            app_name=caller.app_name,
            composition=composition,
            session_service=composition.registry.find(SessionBackend, "memory").open("memory:"),
        )
        check_tree(agent)
        self.resumability_config: Resumability | None = None
        self._caller = caller
        self._artifacts = ForwardedArtifacts(context)

    def new_context(
        self, session: Session, config: KernelRunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """The context of the agent's invocation, with its caller's budget."""
        caller = self._caller
        ctx = InvocationContext(
            session_service=self.session_service,
            session=session,
            agent=self.agent,
            composition=self.composition,
            run_config=RunConfig(**{**dict(config), "max_llm_calls": caller.run_config.max_llm_calls}),
            invocation_id=invocation_id,
            user_content=content,
            app=self.app,
            artifact_service=self._artifacts,
            memory_service=caller.memory_service,
            credential_service=caller.credential_service,
            resumability_config=self.resumability_config,
        )
        ctx.budget, ctx.deps = caller.budget, caller.deps
        inherit(ctx, caller)
        ctx.stash[DEPTH] = caller.stash.get(DEPTH, 0) + 1
        return ctx
