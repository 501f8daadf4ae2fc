"""Runner: invocations of an agent, with the services that they share."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import newel_compose
from newel import claims, live, runners, runs
from newel.contexts.generics import DepsIn, Out
from newel.contexts.invocation_context import InvocationContext, Resumability
from newel.contexts.run_config import RunConfig, unset
from newel.contexts.stash_keys import AMID
from newel.runners.arguments import check_root, deps_types, is_answer, own_plugins
from newel.runners.session_changes import SessionChanges
from newel.runners.submitting import SubmittingRunner
from newel.runners.typed_runs import TypedRuns
from newel_kernel import BaseAgent, BaseSessionService, ConfigurationError, Event, Message, Session, check_tree, receive
from newel_kernel import RunConfig as KernelRunConfig
from newel_types import deferred

if TYPE_CHECKING:
    from newel.agents.base_agent import BaseAgent as TypedAgent
    from newel.apps.app import App
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.engines.engine import BaseEngine
    from newel.memory.base_memory_service import BaseMemoryService
    from newel.questions.question import Question
    from newel_compose import Composition
    from newel_types import Content

#: The room of graphs loads with the first that is asked for.
_as_agent = deferred("newel.workflow.root_run", "as_agent")
_steering = deferred("newel.runners.steering", "Steering")
_applying = deferred("newel.budgets.composing", "applying")
_open_questions = deferred("newel.questions.given_answers", "open_in")
_answering = deferred("newel.questions.given_answers", "answering")
_close_gates = deferred("newel.limits.places", "close_gates")


def as_root(node: Any) -> BaseAgent:
    """The agent that runs `node`; it may be `node` itself."""
    if isinstance(node, BaseAgent):
        return node
    agent: BaseAgent = _as_agent()(node)
    return agent


#: How long closing waits for each thing that it closes.
CLOSE_SECONDS = 10.0


class Runner(TypedRuns[DepsIn, Out], SubmittingRunner, SessionChanges):
    """Runs an agent, a graph node or an app against sessions.

    Give `agent` (or `node`) with `app_name`, or `app`. A service that is not given comes from the app, else from the
    distribution's `services`, and so does the `engine` of submitted runs. `plugins` are objects with hooks (a
    `BasePlugin`, or anything with ``@hookimpl`` methods). `distribution` (a name or a YAML file) or `composition` says
    what runs; by default the folder's.
    """

    default_config = staticmethod(unset)
    session_service: BaseSessionService
    memory_service: BaseMemoryService | None
    credential_service: BaseCredentialService | None

    def __init__(
        self,
        *,
        app: App | None = None,
        app_name: str | None = None,
        agent: TypedAgent[DepsIn, Out] | None = None,
        node: Any = None,
        plugins: Sequence[Any] | None = None,
        session_service: BaseSessionService | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        credential_service: BaseCredentialService | None = None,
        plugin_close_timeout: float = CLOSE_SECONDS,
        auto_create_session: bool = False,
        distribution: str | None = None,
        composition: Composition | None = None,
        engine: BaseEngine | None = None,
    ) -> None:
        root: Any = agent if node is None else as_root(node)
        self.plugins: list[object] = own_plugins(app, root, plugins)
        base = composition if composition is not None else newel_compose.compose_once(distribution)
        composed = newel_compose.extend(base, self.plugins)
        # The code that opens stores loads with the first runner, not with its class.
        services = runners.open_services(
            composed, app, session_service, artifact_service, memory_service, credential_service
        )
        check_root(app.root_agent if app is not None else root)
        super().__init__(
            app=app,
            app_name=app_name,
            agent=root,
            composition=composed,
            session_service=services.session,
            # An app with its own store has sessions created: its old ones may have been made under another name.
            auto_create_session=auto_create_session or getattr(app, "session_service", None) is not None,
        )
        check_tree(self.agent)
        self._deps_types = deps_types(self.agent)
        #: How long each toolset, plugin and background run may take to end, in seconds; `close` may be given another.
        self.plugin_close_timeout = plugin_close_timeout
        #: Whether a message to a session that a run has steers that run.
        self._steers = claims.steers(composed)
        self._engine = engine
        #: The background runs.
        self.runs = runs.Runs()
        self.artifact_service = services.artifact
        self.memory_service = services.memory
        self.credential_service = services.credential
        self.resumability_config: Resumability | None = getattr(app, "resumability_config", None)

    def new_context(
        self, session: Session, config: KernelRunConfig, invocation_id: str | None, content: Content | None
    ) -> InvocationContext:
        """The context that an invocation shares."""
        if not isinstance(config, RunConfig):
            config = RunConfig(**dict(config))
        return InvocationContext(
            self.session_service,
            session,
            self.agent,
            _applying()(self.composition, self.app) if config.budgets else self.composition,
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

    def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: Any = None,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: runs.AbortSignal | None = None,
        deps: DepsIn | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation; yield its events, each committed before the agent continues.

        `new_message` starts a turn (a Content, text, or a tool's result that the agent waits for);
        `invocation_id` resumes one that was interrupted. Once `abort_signal` (such as an asyncio.Event) is set, the
        run is cancelled, and the events end. Tools, callbacks and instructions read `deps` as ``ctx.deps``; it is
        never stored.
        """
        if new_message is None and invocation_id is None:
            raise ConfigurationError("run_async needs a `new_message` or the `invocation_id` of a run to resume")
        message = self._message(new_message, invocation_id, state_delta, yield_user_message, deps)
        if self._steers and new_message is not None and invocation_id is None:
            events = self._steering(user_id, session_id, message, run_config)
        else:
            events = self.invoke(user_id, session_id, message, run_config)
        if (self._engine or self._submissions) is not None and is_answer(new_message):
            events = self._telling(events)
        return events if abort_signal is None else runs.abortable(events, abort_signal)

    async def questions(self, *, user_id: str, session_id: str) -> list[Question]:
        """What waits for the user in a session, the oldest first: each has its `id`, `kind`, `name`, `args`, `hint`."""
        found: list[Question] = _open_questions()(await self._stored(user_id, session_id))
        return found

    async def answer(
        self,
        question: Question | str,
        answer: object,
        *,
        user_id: str,
        session_id: str,
        run_config: KernelRunConfig | None = None,
        deps: DepsIn | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer a question, or the one with that id, and yield the events of the run that goes on.

        An approval takes True or False, an input the value that was asked for, a long-running call its result. Raises
        ConfigurationError if nothing waits for it, or the answer does not fit: then nothing is stored.
        """
        waiting = await self.questions(user_id=user_id, session_id=session_id)
        message = _answering()(waiting, question, answer)
        where: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "run_config": run_config}
        async with aclosing(self.run_async(**where, new_message=message, deps=deps)) as events:
            async for event in events:
                yield event

    def steer(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        yield_user_message: bool = False,
        deps: DepsIn | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Say something to a session that a run may have; the message is stored at once.

        The agent at work, in this process or in another one, is told before its next model call; then the events end.
        If no run has the session, or it ends without another model call, the message gets a run of its own, and its
        events are yielded.
        """
        message = self._message(new_message, None, state_delta, yield_user_message, deps)
        return self._steering(user_id, session_id, message, run_config)

    def _steering(
        self, user_id: str, session_id: str, message: Message, config: KernelRunConfig | None
    ) -> AsyncGenerator[Event, None]:
        config = self.default_config() if config is None else config
        events: AsyncGenerator[Event, None] = _steering()(self, user_id, session_id, message, config).events()
        return events

    async def take_in(self, session: Session, message: Message, config: KernelRunConfig, store: Any) -> list[Event]:
        """Store a message through `store` as a run would, and run nothing."""
        ctx, turn = self._enter(session, config, message)
        ctx.session_service = store
        ctx.stash[AMID] = True
        return await receive(ctx, turn, message.state_delta, amid=True)

    def start(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: Any = None,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        yield_user_message: bool = False,
        steers: bool = False,
        deps: DepsIn | None = None,
    ) -> runs.Run:
        """Start one invocation in the background, as `run_async` would run it; others follow it by its `events`.

        With `steers` the message is for a run that may be under way, as with `steer`. It is among this runner's `runs`
        until it ends. Closing the runner cancels it.
        """
        if steers and (new_message is None or invocation_id is not None):
            raise ConfigurationError("start(steers=True) needs a `new_message`, and no `invocation_id`")
        if steers:
            message = self._message(new_message, None, state_delta, yield_user_message, deps)
            events = self._steering(user_id, session_id, message, run_config)
        else:
            events = self.run_async(
                user_id=user_id,
                session_id=session_id,
                invocation_id=invocation_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
                yield_user_message=yield_user_message,
                deps=deps,
            )
        return self.runs.start(events, user_id, session_id, partial(self._stored, user_id, session_id))

    def run_live(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        live_request_queue: Any = None,
        run_config: KernelRunConfig | None = None,
        session: Any = None,
        deps: DepsIn | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation over a live connection; yield its events until the queue is closed or the service ends it.

        The user's input goes into `live_request_queue` (a LiveRequestQueue) meanwhile. `session` is deprecated: pass
        `user_id` and `session_id`.
        """
        if session is not None:
            text = "run_live(session=) is deprecated: pass user_id and session_id"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            user_id, session_id = user_id or session.user_id, session_id or session.id
        if not user_id or not session_id:
            raise ConfigurationError("run_live needs a `user_id` and a `session_id`")
        if live_request_queue is None:
            raise ConfigurationError("run_live needs a `live_request_queue`: pass newel.agents.LiveRequestQueue()")
        message = self._message(None, None, None, False, deps)
        message.mode = live.LiveMode(live_request_queue)
        return self.invoke(user_id, session_id, message, run_config)

    def run(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        deps: DepsIn | None = None,
    ) -> Generator[Event, None, None]:
        """`run_async` for code without an event loop; closing the generator stops the run and waits for its end."""
        return runs.iterate(
            lambda: self.run_async(
                user_id=user_id,
                session_id=session_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
                deps=deps,
            )
        )

    async def run_debug(
        self,
        user_messages: str | Sequence[str],
        *,
        user_id: str = "debug_user_id",
        session_id: str = "debug_session_id",
        run_config: KernelRunConfig | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> list[Event]:
        """Send one message after the other and print the conversation (with `verbose`, tool calls and data too).

        The session is created if it does not exist, else continued.
        """
        where: dict[str, Any] = {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}
        if await self.session_service.get_session(**where) is None:
            await self.session_service.create_session(**where)
        events: list[Event] = []
        for message in [user_messages] if isinstance(user_messages, str) else user_messages:
            if not quiet:
                print(f"user > {message}")
            run = self.run_async(user_id=user_id, session_id=session_id, new_message=message, run_config=run_config)
            async with aclosing(run):
                async for event in run:
                    events.append(event)
                    if not quiet:
                        runners.print_event(event, verbose=verbose)
        return events

    async def close(self, seconds: float | None = None) -> None:
        """Cancel the background runs; then close the tree's toolsets, the plugins, and what keeps limits.

        One that hangs is abandoned after its timeout: `seconds`, else the runner's `plugin_close_timeout`.
        """
        self._closed = True
        seconds = self.plugin_close_timeout if seconds is None else seconds
        await self.runs.close(seconds)
        if self._submissions is not None:
            await self._submissions.close()
        if limits := self.composition.distribution.services.get("limits"):
            await _close_gates()(limits)
        await runs.close_all(self.agent, self.plugins, seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
