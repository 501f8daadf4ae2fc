"""AgentTool: an agent as a tool of another one."""

from __future__ import annotations

import logging
from contextlib import aclosing
from types import SimpleNamespace

import newel_compose
from newel import runs
from newel.contexts.invocation_context import full_invocation
from newel.tools.agent_call import AgentCall
from newel.tools.agent_calls import DEPTH, PLUGIN, Settings
from newel.tools.agent_exchange import last_word, message_text, parameters_of, result_of
from newel.tools.inner_runner import InnerRunner
from newel_kernel import BaseAgent, BaseTool, Chains, ConfigurationError, Context, Event, Json
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import Content, FunctionDeclaration, Part, deep_copy

_log = logging.getLogger(__name__)

#: State keys with this prefix are the runtime's own, for this session.
_INTERNAL = "_adk"
#: How long a toolset of the agent may take to close.
_CLOSING_SECONDS = 10.0


class AgentTool(BaseTool):
    """Runs `agent` in a session of its own for each call and returns its last text.

    The agent starts with the caller's state, and its changes go back there. It uses the caller's artifacts,
    memory and credentials. Its parameters are its input schema (or `request`, a text); with an output schema the
    result is data that fits it. `skip_summarization` makes the result the caller's final answer. Without
    `include_plugins`, plugins that were given to the runner do not see the agent run. In a resumable app the run
    may pause, and it survives the process (see `agent_call`).
    """

    #: No default limit for the whole run: the agent's own calls have limits, and it may ask the user.
    timeout = 0

    def __init__(self, agent: BaseAgent, skip_summarization: bool = False, *, include_plugins: bool = True) -> None:
        if not isinstance(agent, BaseAgent):
            raise ConfigurationError(f"AgentTool needs an agent, not {agent!r}; give the agent itself, not its name")
        super().__init__(name=agent.name, description=agent.description)
        self.agent = agent
        self.skip_summarization = skip_summarization
        self.include_plugins = include_plugins
        self._running = 0
        self._plain: tuple[Chains, Chains] | None = None

    @property
    def __newel_origin__(self) -> str:
        """The agent."""
        return f"{super().__newel_origin__} of agent {self.agent.name!r}"

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=parameters_of(self.agent)
        )

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Run the agent; arguments that do not fit its input schema are an error result for the model."""
        if self.skip_summarization:
            tool_context.actions.skip_summarization = True
        try:
            text = message_text(self.agent, args)
        except ValueError as problem:
            return {"error": f"Invoking `{self.name}()` failed: {problem}"}
        if (error := self._depth_problem(tool_context.get_invocation_context())) is not None:
            return {"error": error}
        runner = self._runner(tool_context)
        self._running += 1
        message = Content(role="user", parts=[Part(text=text)])
        try:
            if full_invocation(tool_context.get_invocation_context()).is_resumable and tool_context.function_call_id:
                ended = await AgentCall(runner, tool_context).run(message, _shared_state(tool_context))
                if ended is None or ended.error is not None:
                    return None if ended is None else {"error": ended.error}
                last = last_word(ended.events)
            else:
                last = await _drive(runner, message, tool_context)
        finally:
            self._running -= 1
            if not self._running:  # calls that run side by side share the agent's toolsets
                await _close(runner)
        delegation = tool_context.get_invocation_context().composition.settings.get("delegation")
        return result_of(self.agent, last, tells_failures=getattr(delegation, "tell_failures", True))

    def _depth_problem(self, ctx: KernelInvocationContext) -> str | None:
        depth, limit = ctx.stash.get(DEPTH, 0), ctx.composition.settings_of(PLUGIN, Settings).max_depth
        if depth < limit:
            return None
        return (
            f"Invoking `{self.name}()` failed: agents are nested as tools of each other {depth} levels deep, which is "
            f"the limit (settings: {PLUGIN}.max_depth)"
        )

    def _runner(self, context: Context) -> InnerRunner:
        ctx = full_invocation(context.get_invocation_context())
        composition = ctx.composition if self.include_plugins else self._without_objects(ctx.composition)
        runner = InnerRunner(self.agent, ctx, context, composition)
        providers = getattr(ctx.app, "auth_provider_registry", None)
        if providers is not None:  # the only thing that the agent gets of the app
            runner.app = SimpleNamespace(auth_provider_registry=providers)
        return runner

    def _without_objects(self, chains: Chains) -> Chains:
        """The same chains without the plugin objects that were handed to the runner; composed once."""
        if not isinstance(chains, newel_compose.Composition) or not (objects := chains.objects):
            return chains
        if self._plain is None or self._plain[0] is not chains:
            kept = [one for one in objects if getattr(one, "__newel_stays__", False)]
            self._plain = (chains, newel_compose.compose(chains.distribution, plugins=kept))
        return self._plain[1]


async def _drive(runner: InnerRunner, message: Content, context: Context) -> Event | None:
    """Run to the end, in memory; return what `last_word` finds."""
    ctx = context.get_invocation_context()
    session = await runner.session_service.create_session(
        app_name=runner.app_name, user_id=ctx.user_id, state=deep_copy(_shared_state(context))
    )
    all_events: list[Event] = []
    running = runner.run_async(user_id=ctx.user_id, session_id=session.id, new_message=message)
    async with aclosing(running) as events:
        async for event in events:
            if event.partial:
                continue
            actions = event.touched_actions
            if actions is not None and actions.state_delta:
                context.state.update(deep_copy(actions.state_delta))
            all_events.append(event)
    return last_word(all_events)


def _shared_state(context: Context) -> Json:
    """The part of the caller's state that the agent sees."""
    return {key: value for key, value in context.state.to_dict().items() if not key.startswith(_INTERNAL)}


async def _close(runner: InnerRunner) -> None:
    """Close the agent's toolsets; a toolset that fails to close does not change the result."""
    try:
        await runs.close_all(runner.agent, (), _CLOSING_SECONDS)
    except RuntimeError as error:
        _log.warning("after the agent %r ran as a tool: %s", runner.agent.name, error)
