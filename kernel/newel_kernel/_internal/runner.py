"""The runner: one invocation, from the user's message to the last committed event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Protocol

from newel_kernel._internal.cancellation import stray
from newel_kernel._internal.completion import epilogues, finish
from newel_kernel._internal.contracts.agent import BaseAgent
from newel_kernel._internal.contracts.store import BaseSessionService
from newel_kernel._internal.errors import ConfigurationError, SessionNotFoundError, brief
from newel_kernel._internal.events import Event
from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.lifecycle import ask
from newel_kernel._internal.log import Log, Turn
from newel_kernel._internal.loop import only
from newel_kernel._internal.observation import Operation
from newel_kernel._internal.reception import receive, received, stamp
from newel_kernel._internal.run_config import RunConfig
from newel_kernel._internal.session import Session
from newel_kernel._internal.values import Json
from newel_types import Content

if TYPE_CHECKING:
    from newel_kernel._internal.chains import Chains

Events = AsyncGenerator[Event, None]
#: What came in: the message, the state that comes with it, and whether its event is yielded too; or a live queue.
Message = tuple[object, Json | None, bool, object]
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
        message = (new_message, state_delta, yield_user_message, None)
        events = self._run(user_id, session_id, invocation_id, message, run_config)
        return self._observed(events, session_id, invocation_id, new_message)

    def run_live(
        self, *, user_id: str, session_id: str, live_request_queue: object, run_config: RunConfig | None = None
    ) -> Events:
        """Run one invocation over a live connection; what the user says comes through the queue."""
        events = self._run(user_id, session_id, None, (None, None, False, live_request_queue), run_config)
        return self._observed(events, session_id, None, None)

    def _observed(self, events: Events, session_id: str, invocation_id: str | None, message: object) -> Events:
        listed = self.composition.observers
        if listed and (observers := [one for one in listed if one.enabled is None or one.enabled()]):
            what = ("invocation", self.app_name, session_id, invocation_id, self, message)
            return Operation(*what, observers=tuple(observers)).stream(events)
        return events

    async def _run(
        self, user_id: str, session_id: str, invocation_id: str | None, message: Message, config: RunConfig | None
    ) -> Events:
        new_message, state_delta, yield_user_message, live = message
        config = config if config is not None else self.default_config()
        session = await self._open(user_id, session_id, config, new_message is None)
        begun: InvocationContext | None = None
        events: Events | None = None
        failure: BaseException | None = None
        try:
            ctx, turn = self._enter(session, config, invocation_id, message)
            if new_message is not None:
                messages = await receive(ctx, turn, state_delta)
                for event in messages if yield_user_message else ():
                    yield event
            agent = self.composition.turns.agent(ctx)
            if agent is None:  # a crash may have prevented the epilogues
                await epilogues(ctx, None)
                return
            begun, ctx.agent = ctx, agent
            plain = not config.custom_metadata and "on_event_callback" not in self.composition.hooks
            if "before_run_callback" in self.composition.hooks and (answer := await self._before_run(ctx)) is not None:
                events = only(answer)
            else:
                events = agent.run_async(ctx)
            async for event in events:
                if not plain:
                    event = await self._changed(ctx, event)
                if not event.partial and (live is None or not _has_media(event)):
                    await ctx.session_service.append_event(session, event)
                yield event
        except BaseException as error:  # noqa: BLE001 - raised again
            failure = stray(error)
            if events is not None:  # an exhausted one is closed already: this does what aclosing does and costs less
                await events.aclose()
            raise failure  # noqa: B904 - it has its cause
        finally:
            await self._end(session, begun, failure)
            del failure  # its traceback holds this frame

    def _enter(
        self, session: Session, config: RunConfig, invocation_id: str | None, message: Message
    ) -> tuple[InvocationContext, Turn]:
        """The context of the invocation that the message belongs to, and the message's turn."""
        new_message, _, _, live = message
        turn = Log(session.events).turn(received(new_message) if new_message is not None else None)
        ctx = self.new_context(session, config, invocation_id, turn.content)
        ctx.live_request_queue = live
        self.composition.turns.enter(ctx, turn, invocation_id)
        return ctx, turn

    async def _end(self, session: Session, ctx: InvocationContext | None, error: BaseException | None) -> None:
        """End the run; `ctx` is None if the invocation had not begun."""
        if ctx is not None:
            await finish(ctx, error)

    async def _before_run(self, ctx: InvocationContext) -> Event | None:
        """The event of a plugin's answer instead of the agent's, or None."""
        content = await ask(ctx, "before_run_callback", {"invocation_context": ctx})
        return None if content is None else Event(invocation_id=ctx.invocation_id, author="model", content=content)

    async def _changed(self, ctx: InvocationContext, event: Event) -> Event:
        """The event with the run's metadata and the changes that plugins made."""
        stamp(event, ctx.run_config)
        if "on_event_callback" in self.composition.hooks:
            changed = await ask(ctx, "on_event_callback", {"invocation_context": ctx, "event": event})
            if changed is not None and changed is not event:
                event = _merged(event, changed)
                stamp(event, ctx.run_config)
        return event

    async def _open(self, user_id: str, session_id: str, config: RunConfig, resumes: bool) -> Session:
        """Open the session; a run that `resumes` brings no message."""
        where: Json = {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}
        session = await self.session_service.open(**where, config=config.get_session_config)
        if session is not None:
            return session
        if not self.auto_create_session:
            raise SessionNotFoundError(
                f"Session not found: {brief(session_id)} (app {self.app_name!r}, user {brief(user_id)!r}); create it "
                f"with session_service.create_session(...), or pass Runner(auto_create_session=True)"
            )
        created = await self.session_service.create_session(**where)
        return await self.session_service.open(**{**where, "session_id": created.id}) or created

    def new_context(
        self, session: Session, config: RunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """The context of a new invocation; a subclass adds further services to it."""
        return InvocationContext(
            self.session_service, session, self.agent, self.composition, config, invocation_id, content, app=self.app
        )


def _has_media(event: Event) -> bool:
    """Whether the event holds inline audio or images, which a live session does not store."""
    parts = event.content.parts if event.content is not None else None
    return any(part.inline_data is not None for part in parts or ())


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
