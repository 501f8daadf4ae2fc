"""The tools by which an agent delegates work to its sub-agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import BaseModel

from newel.agents.isolation import IsolatedResult, run_isolated
from newel.agents.llm.task._coordination import Desk
from newel.agents.llm.task._finish_task_tool import finishing_response
from newel.agents.llm.task._task_models import TaskRequest, _DefaultTaskInput
from newel.agents.llm.task.plugin import Settings
from newel.contexts.model_data import model_json, plain
from newel.questions.question import questions_of
from newel_kernel import BaseAgent, BaseTool, ConfigurationError, Context, Event, InvocationContext, Json, cancellations
from newel_types import Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part

Events = AsyncGenerator[Event, None]

_REQUEST = {"type": "object", "properties": {"request": {"type": "string"}}, "required": ["request"]}
_ALONE = "A task agent takes this over and may talk to the user: call it alone, without other tools."


class Run:
    """How far a sub-agent got with its input."""

    __slots__ = ("_agent", "_open", "finished", "gave_back", "outcome")

    def __init__(self, agent: BaseAgent) -> None:
        self._agent = agent
        self.outcome = IsolatedResult(agent)
        self.finished = False
        #: Whether it handed over to an agent outside its subtree: then it has nothing more to do.
        self.gave_back = False
        self._open: set[str] = set()

    @property
    def waits(self) -> bool:
        """Whether the agent has an open call that only the outside can answer, and has no result."""
        return bool(self._open) and self.outcome.value is None

    def see(self, event: Event) -> None:
        """Read an event, before it is committed."""
        if not event.partial:
            self._open.update(question.id for question in questions_of(event))
            self._open.difference_update(str(response.id) for response in event.get_function_responses())
        self.outcome.see(event)
        if event.author == self._agent.name and finishing_response(event) is not None:
            self.finished = True
        actions = event.touched_actions
        target = actions.transfer_to_agent if actions is not None else None
        if target is not None and self._agent.find_agent(target) is None:
            self.gave_back = True

    def response(self) -> Json:
        """The agent's result, as the result of a call."""
        if self.gave_back:
            return {"error": f"The agent {self._agent.name!r} gave this back without a result."}
        value = plain(self.outcome.value)
        if isinstance(value, dict):
            return value
        return {"output" if self.finished else "result": value}


class DelegationTool(BaseTool):
    """A sub-agent as a tool of its parent. Its parameters are the agent's input schema, or `request`, a text.

    If the arguments do not fit, the parent's model gets an error result.
    """

    #: An agent gets it because of its sub-agents' modes, not from its list of tools.
    __newel_of_mode__ = True
    #: Seconds; 0 means no limit: the agent's model and tools have their own limits.
    timeout = 0

    def __init__(self, agent: BaseAgent) -> None:
        super().__init__(name=agent.name, description=agent.description)
        self.agent = agent
        self._schema: object = getattr(agent, "input_schema", None)

    @property
    def __newel_origin__(self) -> str:
        """The tool and its agent."""
        return f"{super().__newel_origin__} of agent {self.agent.name!r}"

    def _get_declaration(self) -> FunctionDeclaration:
        schema = self._schema
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema = schema.model_json_schema()
            schema.pop("description", None)  # the model class's docstring; the agent has its own
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=schema or _REQUEST
        )

    def validated(self, args: Json) -> Json:
        """The arguments, validated by the input schema; wrong ones raise pydantic's ValidationError or a ValueError."""
        if isinstance(self._schema, type) and issubclass(self._schema, BaseModel):
            return model_json(self._schema.model_validate(args))
        if self._schema is None and not isinstance(args.get("request"), str):
            raise ValueError("`request` must be a string that describes the task")
        if self._schema is None and (unknown := args.keys() - {"request"}):
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}; the only parameter is `request`")
        return args

    def _problem(self, error: ValueError) -> Json:
        return {"error": f"Invoking `{self.name}()` failed: the arguments do not fit: {error}"}

    def _desk(self, ctx: InvocationContext) -> Desk:
        if not isinstance(ctx.meeting, Desk):
            raise ConfigurationError(
                f"{self.__newel_origin__} works for the parent of its agent only: put the agent in `sub_agents` of "
                f"the one that calls it, and do not list the tool (agent {ctx.agent.name!r} called it)"
            )
        return ctx.meeting

    def resume(self, ctx: InvocationContext, call: FunctionCall, since: int) -> Events:
        """Continue a call of an earlier turn, up to its result, or until the agent waits again."""
        raise NotImplementedError

    def _result(self, ctx: InvocationContext, call_id: str | None, author: str, response: Json) -> Event:
        answer = FunctionResponse(id=call_id, name=self.name, response=response)
        return Event(
            invocation_id=ctx.invocation_id,
            author=author,
            branch=ctx.branch,
            isolation_scope=ctx.isolation_scope,
            content=Content(role="user", parts=[Part(function_response=answer)]),
        )

    async def _relay(self, events: Events, run: Run, failed: Event) -> Events:
        """The agent's events until it ends or gives the work back; an event reports a failure, then it is raised.

        An error that the agent's code raises during a cancellation becomes a cancellation again.
        """
        before = cancellations()
        async with aclosing(events):
            try:
                async for event in events:
                    run.see(event)
                    yield event
                    if run.gave_back:
                        return
            except Exception as error:
                if cancellations() > before:
                    raise asyncio.CancelledError from error
                failed.error_code, failed.error_message = type(error).__name__, str(error)
                yield failed
                raise


class SingleTurnTool(DelegationTool):
    """A sub-agent that answers once: its answer is the tool's result. Several calls may run side by side."""

    #: If the agent waits for the outside, the result comes later.
    _defers_response = True

    async def run_async(self, *, args: Json, tool_context: Context) -> Json | None:
        """Have the agent answer."""
        try:
            fitted = self.validated(args)
        except ValueError as error:
            return self._problem(error)
        ctx = tool_context.get_invocation_context()
        run = Run(self.agent)
        await self._desk(ctx).produce(self._answer(ctx, fitted, run))
        if run.waits:
            ctx.end_invocation = True
            return None
        return run.response()

    async def _answer(self, ctx: InvocationContext, args: Json, run: Run, since: int | None = None) -> Events:
        branch = f"{ctx.branch}.{self.name}@1" if ctx.branch else f"{self.name}@1"
        node_input = args["request"] if self._schema is None else args
        events = run_isolated(self.agent, ctx, node_input, branch=branch, isolation_scope=None, since=since)
        failed = Event(
            invocation_id=ctx.invocation_id, author=self.name, branch=branch, isolation_scope=ctx.isolation_scope
        )
        try:
            async with aclosing(self._relay(events, run, failed)) as relayed:
                async for event in relayed:
                    yield event
        except Exception as error:  # noqa: BLE001 - a plugin's agent; an event reports it, the parent continues
            problem = f"The agent {self.name!r} failed: {type(error).__name__}: {error}"
            tells = ctx.composition.settings_of("delegation", Settings).tell_failures
            run.outcome.value = {"error": problem} if tells else None

    async def resume(self, ctx: InvocationContext, call: FunctionCall, since: int) -> Events:
        """Continue from the agent's events so far."""
        run = Run(self.agent)
        try:
            args = self.validated(call.args or {})
        except ValueError as error:
            yield self._result(ctx, call.id, ctx.agent.name, self._problem(error))
            return
        async with aclosing(self._answer(ctx, args, run, since)) as events:
            async for event in events:
                yield event
        if run.waits:
            ctx.end_invocation = True
        else:
            yield self._result(ctx, call.id, ctx.agent.name, run.response())


class RequestTaskTool(DelegationTool):
    """A sub-agent that takes over a task, for several user turns if need be, until it calls finish_task.

    Its result is a separate event. Tasks that are called together run one after another.
    """

    _defers_response = True

    def _get_declaration(self) -> FunctionDeclaration:
        declaration = super()._get_declaration()
        declaration.description = f"{self.description}\n\n{_ALONE}".strip()
        return declaration

    def request(self, args: Json) -> TaskRequest:
        """The task; wrong arguments raise pydantic's ValidationError or a ValueError."""
        if self._schema is not None or not args.keys() & _DefaultTaskInput.model_fields.keys():
            self.validated(args)
        else:
            _DefaultTaskInput.model_validate(args)
        return TaskRequest(agent_name=self.name, input=args)

    async def run_async(self, *, args: Json, tool_context: Context) -> Json | None:
        """Start the task; None, as the result is a separate event, now or in a later turn, or an error result."""
        try:
            request = self.request(args)
        except ValueError as error:
            return self._problem(error)
        ctx = tool_context.get_invocation_context()
        desk = self._desk(ctx)
        async with desk.turn:
            if not ctx.end_invocation:  # else an earlier task waits, and this one waits for it
                await desk.produce(self._carry_out(ctx, request, tool_context.function_call_id))
        return None

    async def _carry_out(
        self, ctx: InvocationContext, request: TaskRequest, call_id: str | None, since: int | None = None
    ) -> Events:
        run = Run(self.agent)
        start = len(ctx.session.events) if since is None else since
        events = run_isolated(self.agent, ctx, request.input, branch=ctx.branch, isolation_scope=call_id, since=start)
        failed = Event(
            invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch, isolation_scope=call_id
        )
        async with aclosing(self._relay(events, run, failed)) as relayed:
            async for event in relayed:
                yield event
        if run.finished or run.gave_back:
            yield self._result(ctx, call_id, "user", run.response())
        else:
            ctx.end_invocation = True

    async def resume(self, ctx: InvocationContext, call: FunctionCall, since: int) -> Events:
        """Continue the task's own conversation with the user's messages there."""
        run = Run(self.agent)
        for event in ctx.session.events[since:]:
            if event.isolation_scope == call.id and finishing_response(event) is not None:
                run.see(event)
        if run.finished:  # but the run was interrupted before the result was committed
            yield self._result(ctx, call.id, "user", run.response())
            return
        try:
            request = self.request(call.args or {})
        except ValueError as error:
            yield self._result(ctx, call.id, "user", self._problem(error))
            return
        async with aclosing(self._carry_out(ctx, request, call.id, since)) as events:
            async for event in events:
                yield event
