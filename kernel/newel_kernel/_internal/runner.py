"""The runner: one invocation, from the user's message to the last committed event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from newel_kernel._internal.cancellation import stray
from newel_kernel._internal.completion import epilogues, finish
from newel_kernel._internal.contracts.agent import BaseAgent
from newel_kernel._internal.contracts.store import BaseSessionService
from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event
from newel_kernel._internal.gate import Admission
from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.lifecycle import ask
from newel_kernel._internal.log import Log, Turn
from newel_kernel._internal.loop import only
from newel_kernel._internal.observation import Operation
from newel_kernel._internal.reception import Message, receive, received, stamp
from newel_kernel._internal.run_config import RunConfig
from newel_kernel._internal.session import Session
from newel_kernel._internal.values import Json
from newel_types import Content

if TYPE_CHECKING:
    from newel_kernel._internal.chains import Chains

Events = AsyncGenerator[Event, None]
#: The fields of an event that a plugin cannot change.
_FIXED = ("id", "timestamp", "invocation_id", "actions", "node_info")


class Application(Protocol):
    """What a runner needs of an app; plugins may read further attributes."""

    @property
    def name(self) -> str:
        """The name under which its sessions are stored."""

    @property
    def root_agent(self) -> BaseAgent:
        """The agent that it runs."""


class Runner:
    """Runs an agent (or an app) against sessions, by the chains of a composition.

    Give `agent` with `app_name`, or `app`.
    """

    #: Makes the configuration of an invocation whose caller passes none.
    default_config: Callable[[], RunConfig] = RunConfig

    def __init__(
        self,
        *,
        composition: Chains,
        session_service: BaseSessionService,
        app: Application | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        auto_create_session: bool = False,
    ) -> None:
        root = app.root_agent if app is not None else agent
        if root is None:
            raise ConfigurationError("Runner needs an `agent` (with `app_name`) or an `app`")
        self.app = app
        self.agent: BaseAgent = root
        self.app_name: str = app_name or (app.name if app is not None else root.name)
        self.auto_create_session = auto_create_session
        self.composition = composition.for_app(app)
        self.session_service = session_service

    def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: object = None,
        state_delta: Json | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
    ) -> Events:
        """Run one invocation; yield its events, each committed before the agent continues.

        `new_message` starts a turn (a Content, text, or a tool's result that the agent waits for);
        `invocation_id` resumes one that was interrupted.
        """
        if new_message is None and invocation_id is None:
            raise ConfigurationError("run_async needs a `new_message` or the `invocation_id` of a run to resume")
        message = Message(new_message, invocation_id, state_delta, yield_user_message)
        return self.invoke(user_id, session_id, message, run_config)

    def invoke(self, user_id: str, session_id: str, message: Message, config: RunConfig | None = None) -> Events:
        """The events of one invocation, which begins with the first step."""
        if config is None:
            config = self.default_config()
        elif not isinstance(config, RunConfig):
            raise ConfigurationError(f"run_config must be a RunConfig(...), not {config!r} ({type(config).__name__})")
        resumes = message.content is None
        admission = Admission(
            self.session_service, self.app_name, user_id, session_id, config, self.auto_create_session, resumes
        )
        events = self._run(admission, message)
        for observer in self.composition.observers:
            if observer.enabled is None or observer.enabled():
                events = self._observed(events, admission, message)
                break
        around = self.composition.gate.around
        return events if around is None else around(events, admission)

    @asynccontextmanager
    async def session_in_use(self, user_id: str, session_id: str, *, at_once: bool = False) -> AsyncIterator[Session]:
        """A session for something other than a run that writes to it; no run has it meanwhile.

        With `at_once` it is held before the first append.
        """
        admission = Admission(
            self.session_service, self.app_name, user_id, session_id, RunConfig(), self.auto_create_session
        )
        admission.at_once = at_once
        admission.session = await self.composition.gate.enter(admission)
        try:
            yield admission.session
        finally:
            await self._end(admission, None, None)

    def _observed(self, events: Events, admission: Admission, message: Message) -> Events:
        observers = [one for one in self.composition.observers if one.enabled is None or one.enabled()]
        what = (self.app_name, admission.session_id, message.invocation_id, self, message.content)
        return Operation("invocation", *what, observers=tuple(observers)).stream(events)

    async def _run(self, admission: Admission, message: Message) -> Events:
        config, mode, hooks = admission.config, message.mode, self.composition.hooks
        admission.session = session = await self.composition.gate.enter(admission)
        begun: InvocationContext | None = None
        events: Events | None = None
        failure: BaseException | None = None
        try:
            ctx, turn = self._enter(session, config, message)
            says = message.content is not None or message.state_delta
            messages = await receive(ctx, turn, message.state_delta) if says else []
            for event in messages if message.yielded else ():
                yield event
            del turn, message, messages  # a run keeps nothing that it needs no more: many may run at once
            agent = self.composition.turns.agent(ctx)
            if agent is None:  # a crash may have prevented the epilogues
                await epilogues(ctx, None)
                return
            begun, ctx.agent = ctx, agent
            outlets = ctx.outlets
            if "before_run_callback" in hooks and (answer := await self._before_run(ctx)) is not None:
                events = only(answer)
            else:
                events = agent.run_async(ctx)
            async for event in events:
                if outlets:
                    event = await self._changed(ctx, event)
                if not event.partial and (mode is None or mode.stores(event)):
                    await ctx.session_service.append_event(session, event)
                yield event
        except BaseException as error:  # noqa: BLE001 - raised again
            failure = stray(error)
            if events is not None:  # an exhausted one is closed already: this does what aclosing does and costs less
                await events.aclose()
            raise failure  # noqa: B904 - it has its cause
        finally:
            await self._end(admission, begun, failure)
            del failure  # its traceback holds this frame

    def _enter(self, session: Session, config: RunConfig, message: Message) -> tuple[InvocationContext, Turn]:
        """The context of the invocation that the message belongs to, and the message's turn."""
        content = message.content
        turn = Log(session.events).turn(received(content) if content is not None else None)
        ctx = self.new_context(session, config, message.invocation_id, turn.content)
        if config.custom_metadata or "on_event_callback" in self.composition.hooks:
            ctx.outlets.append(lambda event, _: stamp(event, config))
        if message.deps is not None:
            ctx.deps = message.deps
        if message.mode is not None:
            ctx.mode = message.mode
            ctx.mode.enter(ctx)
        self.composition.turns.enter(ctx, turn, message.invocation_id)
        ctx.continues = message.mode is not None or ctx.resumed or bool(turn.answered)
        return ctx, turn

    async def _end(self, admission: Admission, ctx: InvocationContext | None, error: BaseException | None) -> None:
        """End the use of a session; `ctx` is None if no invocation had begun."""
        admission.ending = True
        try:
            if ctx is not None:
                await finish(ctx, error)
        finally:
            if (left := self.composition.gate.leave(admission)) is not None:
                await left

    async def _before_run(self, ctx: InvocationContext) -> Event | None:
        """The event of a plugin's answer instead of the agent's, or None."""
        content = await ask(ctx, "before_run_callback", {"invocation_context": ctx})
        return None if content is None else Event(invocation_id=ctx.invocation_id, author="model", content=content)

    async def _changed(self, ctx: InvocationContext, event: Event) -> Event:
        """The event with what the outlets put on it, and the changes that plugins made."""
        for outlet in ctx.outlets:
            outlet(event, ctx.session.state)
        if "on_event_callback" in self.composition.hooks:
            changed = await ask(ctx, "on_event_callback", {"invocation_context": ctx, "event": event})
            if changed is not None and changed is not event:
                event = _merged(event, changed)
            for outlet in ctx.outlets:
                outlet(event, ctx.session.state)
        return event

    def new_context(
        self, session: Session, config: RunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """The context of a new invocation; a subclass adds further services to it."""
        return InvocationContext(
            self.session_service, session, self.agent, self.composition, config, invocation_id, content, app=self.app
        )


def _merged(event: Event, changed: Event) -> Event:
    """`event` with the fields that a plugin set; it stays the same event."""
    update = {
        name: value
        for name in Event.field_names
        if name not in _FIXED and (value := getattr(changed, name)) not in (None, "")
    }
    if changed.touched_actions is not None:
        update["actions"] = changed.touched_actions
    return event.model_copy(update=update)
