"""Runners: `Runner`, and `InMemoryRunner` for tests and first steps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from newel.artifacts.in_memory_artifact_service import InMemoryArtifactService
from newel.memory.in_memory_memory_service import InMemoryMemoryService
from newel.runs.abort import AbortSignal, abortable
from newel.runs.thread import iterate
from newel.runs.transcript import print_event
from newel.sessions.in_memory_session_service import InMemorySessionService
from newel.sessions.rewind import rewind_event
from newel_kernel import runner as kernel
from newel_kernel import BaseAgent
from newel_kernel import Event
from newel_kernel import RunConfig

if TYPE_CHECKING:
    from newel.apps.app import App

__all__ = ["InMemoryRunner", "Runner"]


def as_root(node: object) -> BaseAgent:
    """The agent that runs `node`, which may be one itself."""
    if isinstance(node, BaseAgent):
        return node
    agent: BaseAgent = import_module("newel.workflow.root_run").as_agent(node)
    return agent


class Runner(kernel.Runner):
    """Runs an agent, a graph node or an app against sessions; see `newel_kernel.runner.Runner` for the arguments."""

    def __init__(self, *, node: object = None, **arguments: Any) -> None:
        super().__init__(node=None if node is None else as_root(node), **arguments)

    def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: object = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: AbortSignal | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation; yield its events, each committed before the agent goes on.

        `new_message` starts a turn (a Content, text, or a tool's result that the agent waits for);
        `invocation_id` resumes one that was interrupted. Once `abort_signal` (an asyncio.Event, say) is set, what
        runs is cancelled, and the events end.
        """
        events = super().run_async(
            user_id=user_id, session_id=session_id, invocation_id=invocation_id, new_message=new_message,
            state_delta=state_delta, run_config=run_config, yield_user_message=yield_user_message,
        )  # fmt: skip
        return events if abort_signal is None else abortable(events, abort_signal)

    def run(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: object,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> Generator[Event, None, None]:
        """`run_async` for code without an event loop; closing the generator stops the run and waits for its end."""
        return iterate(
            lambda: self.run_async(
                user_id=user_id, session_id=session_id, new_message=new_message, state_delta=state_delta,
                run_config=run_config,
            )
        )  # fmt: skip

    async def run_debug(
        self,
        user_messages: str | Sequence[str],
        *,
        user_id: str = "debug_user_id",
        session_id: str = "debug_session_id",
        run_config: RunConfig | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> list[Event]:
        """Send one message after the other and print the conversation (with `verbose`, tool calls and data too).

        Creates the session if there is none.
        """
        sessions, app_name = self.session_service, self.app_name
        if await sessions.get_session(app_name=app_name, user_id=user_id, session_id=session_id) is None:
            await sessions.create_session(app_name=app_name, user_id=user_id, session_id=session_id)
        events: list[Event] = []
        for message in [user_messages] if isinstance(user_messages, str) else user_messages:
            if not quiet:
                print(f"user > {message}")
            run = self.run_async(user_id=user_id, session_id=session_id, new_message=message, run_config=run_config)
            async with aclosing(run):
                async for event in run:
                    events.append(event)
                    if not quiet:
                        print_event(event, verbose=verbose)
        return events

    async def rewind_async(self, *, user_id: str, session_id: str, rewind_before_invocation_id: str) -> None:
        """Take the session back to before an invocation, with its state and its artifacts of that time."""
        session = await self._open(user_id, session_id, RunConfig())
        event = await rewind_event(session, rewind_before_invocation_id, self.artifact_service)
        await self.session_service.append_event(session, event)


class InMemoryRunner(Runner):
    """A Runner whose stores live in this process, and which creates a session that it does not find."""

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        node: object = None,
        app_name: str | None = None,
        app: App | None = None,
        plugins: Sequence[object] | None = None,
        distribution: str | None = None,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or ("InMemoryRunner" if app is None else None),
            agent=agent,
            node=node,
            plugins=plugins,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
            auto_create_session=True,
            distribution=distribution,
        )
