"""Conversations with a graph: each in a session of its own, on distribution `adk`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from newel import App, Event, Runner
from newel.apps import ResumabilityConfig
from newel.runners.runner import as_root
from newel.sessions import BaseSessionService, InMemorySessionService
from newel.types import Content, FunctionResponse, Part
from newel_compose import Composition, compose, compose_once
from newel_kernel import Observer, Signal, hookimpl

ASK = "adk_request_input"


class Talk:
    """Messages to one session, and what came of each. A new `Talk` on the same store is a new process."""

    def __init__(
        self,
        root: Any,
        store: BaseSessionService | None = None,
        *,
        resumable: bool = False,
        plugins: Any = (),
        composition: Composition | None = None,
    ) -> None:
        self.store = store or InMemorySessionService()
        config = ResumabilityConfig(is_resumable=resumable)
        app = App(name="app", root_agent=as_root(root), resumability_config=config, plugins=list(plugins))
        self.runner = Runner(
            app=app,
            session_service=self.store,
            auto_create_session=True,
            composition=composition or compose_once("adk"),
        )

    def say(self, message: Any = None, **arguments: Any) -> list[Event]:
        """Send a message, or resume an invocation; the events."""

        async def turn() -> list[Event]:
            run = self.runner.run_async(user_id="u", session_id="s", new_message=message, **arguments)
            return [event async for event in run]

        return asyncio.run(turn())

    def answer(self, **answers: Any) -> list[Event]:
        """Answer questions by their ids."""
        parts = [
            Part(function_response=FunctionResponse(id=key, name=ASK, response={"result": value}))
            for key, value in answers.items()
        ]
        return self.say(Content(role="user", parts=parts))

    def stored(self) -> list[Event]:
        """The session's events."""

        async def read() -> list[Event]:
            session = await self.store.get_session(app_name="app", user_id="u", session_id="s")
            return list(session.events)

        return asyncio.run(read())


class Watch:
    """Observes every operation."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str, str]] = []

    @hookimpl
    def register_observers(self) -> list[Observer]:
        """Notes what ended, within what, and how."""

        def note(signal: Signal) -> None:
            one, above = signal.operation, signal.operation.parent
            if signal.phase != "start" and one.kind == "node":
                self.ended.append((f"{above.kind} {above.name}" if above else "", one.name, signal.phase))

        return [Observer(name="watch", notify=note)]


@cache
def observed() -> Composition:
    """`adk` with an observer, composed once: a plugin that registers something has each runner compose anew."""
    return compose("adk", plugins=[Watch()])


@pytest.fixture(params=["unobserved", "observed"])
def talk(request: pytest.FixtureRequest) -> Callable[..., Talk]:
    """Begins a conversation with a root. Where somebody observes, a graph takes no short ways."""
    composition = observed() if request.param == "observed" else None
    return lambda root, store=None, **options: Talk(root, store, **{"composition": composition, **options})


@pytest.fixture
def watched() -> tuple[Callable[..., Talk], Watch]:
    """Likewise, with what was observed."""
    watch = Watch()
    return lambda root, store=None, **options: Talk(root, store, **{"plugins": [watch], **options}), watch


def outputs(events: list[Event]) -> list[Any]:
    """The outputs that events carry."""
    return [event.output for event in events if event.output is not None]


@pytest.fixture(name="outputs")
def _outputs() -> Callable[[list[Event]], list[Any]]:
    return outputs
