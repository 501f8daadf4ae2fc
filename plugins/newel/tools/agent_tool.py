"""AgentTool: an agent as a tool of another one."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from types import SimpleNamespace

from pydantic import BaseModel, ValidationError

import newel_compose
from newel import runs
from newel.contexts.invocation_context import full_invocation
from newel.tools.agent_call import AgentCall
from newel.tools.agent_calls import DEPTH, PLUGIN, Settings
from newel.tools.function_schema import without_titles
from newel.tools.inner_runner import InnerRunner
from newel.tools.structured_output import OutputSchemaError, validated
from newel_kernel import BaseAgent, BaseTool, Chains, ConfigurationError, Context, Event, Json
from newel_kernel import InvocationContext as KernelInvocationContext
from newel_types import Content, FunctionDeclaration, Part, deep_copy

_log = logging.getLogger(__name__)

_REQUEST = {"type": "object", "properties": {"request": {"type": "string"}}, "required": ["request"]}
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
        schema = _schema_of(self.agent, "input_schema")
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema = without_titles(schema.model_json_schema())
            schema.pop("description", None)  # the model class's docstring; the agent has its own
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=schema or _REQUEST
        )

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Run the agent; arguments that do not fit its input schema are an error result for the model."""
        if self.skip_summarization:
            tool_context.actions.skip_summarization = True
        text, error = self._input(args)
        error = error or self._depth_problem(tool_context.get_invocation_context())
        if error is not None:
            return {"error": error}
        runner = self._runner(tool_context)
        self._running += 1
        message = Content(role="user", parts=[Part(text=text)])
        try:
            if full_invocation(tool_context.get_invocation_context()).is_resumable and tool_context.function_call_id:
                ended = await AgentCall(runner, tool_context).run(message, _shared_state(tool_context))
                if ended is None or ended.error is not None:
                    return None if ended is None else {"error": ended.error}
                last = _last_word(ended.events)
            else:
                last = await _drive(runner, message, tool_context)
        finally:
            self._running -= 1
            if not self._running:  # calls that run side by side share the agent's toolsets
                await _close(runner)
        return self._result(last, tool_context)

    def _input(self, args: Json) -> tuple[str, str | None]:
        """The message for the agent, or what is wrong with the arguments."""
        schema = _schema_of(self.agent, "input_schema")
        try:
            if isinstance(schema, type) and issubclass(schema, BaseModel):
                return schema.model_validate(args).model_dump_json(exclude_none=True, by_alias=True), None
            if schema is not None:
                return json.dumps(args, ensure_ascii=False), None
        except ValidationError as error:
            return "", f"Invoking `{self.name}()` failed: the arguments do not fit: {error}"
        request = args.get("request")
        if not isinstance(request, str) or not request:
            return "", f"Invoking `{self.name}()` failed: `request` must be a string that describes the task"
        return request, None

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
        if not isinstance(chains, newel_compose.Composition) or not chains.objects:
            return chains
        if self._plain is None or self._plain[0] is not chains:
            self._plain = (chains, newel_compose.compose(chains.distribution))
        return self._plain[1]

    def _result(self, last: Event | None, context: Context) -> object:
        if last is None:
            return ""
        if last.output is not None:
            return last.output
        if last.content is None:
            delegation = context.get_invocation_context().composition.settings.get("delegation")
            tells = getattr(delegation, "tell_failures", True)
            return {"error": f"{last.error_code}: {last.error_message or ''}"} if tells else ""
        texts = [text for part in last.content.parts or () if not part.thought and (text := _text(part))]
        text = "\n".join(texts)
        schema = _schema_of(self.agent, "output_schema")
        if schema is None or not text:
            return text
        try:
            return validated(schema, text)
        except OutputSchemaError as error:
            raise error.of_agent(self.agent.name, 1) from None


async def _drive(runner: InnerRunner, message: Content, context: Context) -> Event | None:
    """Run to the end, in memory; return what `_last_word` finds."""
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
    return _last_word(all_events)


def _shared_state(context: Context) -> Json:
    """The part of the caller's state that the agent sees."""
    return {key: value for key, value in context.state.to_dict().items() if not key.startswith(_INTERNAL)}


def _last_word(events: Sequence[Event]) -> Event | None:
    """The last event with content or an output that the user did not write, or the last failure without one."""
    answer: Event | None = None
    failed: Event | None = None
    for event in events:
        if event.author == "user":
            continue
        if (event.content is not None and event.content.parts) or event.output is not None:
            answer = event
        elif event.error_code:
            failed = event
    return answer or failed


async def _close(runner: InnerRunner) -> None:
    """Close the agent's toolsets; a toolset that fails to close does not change the result."""
    try:
        await runs.close_all(runner.agent, (), _CLOSING_SECONDS)
    except RuntimeError as error:
        _log.warning("after the agent %r ran as a tool: %s", runner.agent.name, error)


def _schema_of(agent: BaseAgent, kind: str) -> object:
    """The agent's own schema; of a composite agent, that of the sub-agent which starts (or, for output, ends)."""
    while not hasattr(agent, kind):
        if not agent.sub_agents:
            return None
        agent = agent.sub_agents[0 if kind == "input_schema" else -1]
    return getattr(agent, kind)


def _text(part: Part) -> str:
    """What a user would see of a part, code and its output included."""
    if part.text:
        return part.text
    if part.code_execution_result is not None and part.code_execution_result.output:
        return part.code_execution_result.output.rstrip("\n")
    return (part.executable_code.code or "") if part.executable_code is not None else ""
