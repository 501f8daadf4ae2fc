"""Conversation: one session with an agent, a graph node or an app, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

from newel.apps import App
from newel.artifacts import InMemoryArtifactService
from newel.artifacts.base_artifact_service import BaseArtifactService
from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel.memory.base_memory_service import BaseMemoryService
from newel.models.scripted import ScriptedModel
from newel.runners import Runner
from newel.runs.abort import AbortSignal
from newel.sessions import InMemorySessionService
from newel_compose import Composition, compose, compose_once
from newel_kernel import BaseSessionService, ConfigurationError, Event, LlmRequest, RunConfig, Session, Stash
from newel_types import Content, FunctionCall, FunctionResponse, Part


class Services(TypedDict, total=False):
    """The stores of a conversation."""

    session_service: BaseSessionService
    artifact_service: BaseArtifactService | None
    memory_service: BaseMemoryService | None
    credential_service: BaseCredentialService | None


class RunOptions(TypedDict, total=False):
    """The options of a message; see `Runner.run_async`."""

    user_id: str
    session_id: str
    invocation_id: str | None
    state_delta: dict[str, object] | None
    run_config: RunConfig | None
    yield_user_message: bool
    abort_signal: AbortSignal | None


class Turn(list[Event]):
    """The events of one invocation, in order, and what is in them."""

    @property
    def texts(self) -> list[str]:
        """The texts, without thoughts and partial events."""
        return [part.text for part in _parts(self) if part.text and not part.thought]

    @property
    def text(self) -> str:
        """The last text; empty if there is none."""
        return self.texts[-1] if self.texts else ""

    @property
    def calls(self) -> list[FunctionCall]:
        """The calls of tools, including questions to the user."""
        return [part.function_call for part in _parts(self) if part.function_call is not None]

    @property
    def results(self) -> list[dict[str, object] | None]:
        """What the tools answered, in the order in which they did."""
        return [part.function_response.response for part in _parts(self) if part.function_response is not None]

    @property
    def questions(self) -> list[FunctionCall]:
        """The calls that wait for the user or another party: approvals, credentials, input, long-running tools."""
        waiting = {id_ for event in self for id_ in event.long_running_tool_ids or ()}
        return [call for call in self.calls if call.id in waiting]


T = TypeVar("T")


class Conversation:
    """One session with `subject`, with its own runner, composition and stores in memory.

    `say` is for plain test functions, `await send` for coroutines; both give the events as a `Turn`, and raise what
    the run raises. `subject` is an agent, an app or any other node of a workflow. `distribution` is a name, a file or
    a composition. A service given by name replaces the one in memory; an app keeps its own services.
    """

    def __init__(
        self,
        subject: object,
        *,
        plugins: Sequence[object] = (),
        distribution: str | Path | Composition = "standard",
        app_name: str | None = None,
        user_id: str = "user",
        session_id: str = "session",
        **services: Unpack[Services],
    ) -> None:
        app = subject if isinstance(subject, App) else None
        self.app_name = app_name or (app.name if app is not None else "app")
        self.user_id = user_id
        self.session_id = session_id
        #: The turns so far, one for each message.
        self.turns: list[Turn] = []
        self._subject = subject
        self._plugins = list(plugins)
        self._distribution = distribution
        self._services: Services = {
            "session_service": (app and app.session_service) or InMemorySessionService(),
            "artifact_service": (app and app.artifact_service) or InMemoryArtifactService(),
            **services,
        }
        self.restart()

    def restart(self, subject: object = None) -> None:
        """Continue with a new runner and composition over the same stores, as a new process would.

        `subject` replaces the former one: for example an agent that was changed in code.
        """
        self._subject = subject or self._subject
        subject = self._subject
        app = subject if isinstance(subject, App) else None
        self.runner = Runner(
            app=app,
            node=subject if app is None else None,
            app_name=self.app_name,
            plugins=self._plugins or None,
            auto_create_session=True,
            composition=self._composition(),
            **self._services,
        )

    def _composition(self) -> Composition:
        """A composition of a name or a file is made once for all; its stash (models, for example) is not shared."""
        choice = self._distribution
        if isinstance(choice, str | Path):
            return replace(compose_once(str(choice)), stash=Stash())
        return choice if isinstance(choice, Composition) else compose(choice)

    def say(self, message: object = "hello", **options: Unpack[RunOptions]) -> Turn:
        """Send one message (a text, a part, a list of parts, a content); the events of its invocation.

        None with `invocation_id` continues that invocation.
        """
        return _waited(self.send(message, **options))

    async def send(self, message: object = "hello", **options: Unpack[RunOptions]) -> Turn:
        """`say`, to be awaited."""
        turn = Turn()
        self.turns.append(turn)
        async for event in self.start(message, **options):
            turn.append(event)
        return turn

    def start(self, message: object = "hello", **options: Unpack[RunOptions]) -> AsyncGenerator[Event, None]:
        """The events as they come, for a test that stops early; they are not added to `turns`."""
        where: RunOptions = {"user_id": self.user_id, "session_id": self.session_id, **options}
        return self.runner.run_async(new_message=message, **where)

    def answers(self, *responses: Mapping[str, object]) -> Content:
        """The message that answers the questions of the last turn in their order; the rest stays open."""
        questions = self.turns[-1].questions
        if len(responses) > len(questions):
            raise ValueError(f"{len(responses)} answers, but the last turn asks {len(questions)} questions")
        return Content(
            role="user",
            parts=[
                Part(function_response=FunctionResponse(id=call.id, name=call.name, response=dict(response)))
                for call, response in zip(questions, responses, strict=False)
            ],
        )

    async def stored(self) -> Session:
        """The session as the store has it."""
        session = await self.runner.session_service.get_session(
            app_name=self.app_name, user_id=self.user_id, session_id=self.session_id
        )
        if session is None:
            raise LookupError(f"the store has no session {self.session_id!r}: nothing was said yet, or it was deleted")
        return session

    @property
    def session(self) -> Session:
        """`stored`, for plain test functions."""
        return _waited(self.stored())

    @property
    def model(self) -> ScriptedModel:
        """The model of the root agent, if it is a scripted one."""
        model = getattr(self.runner.agent, "model", None)
        if not isinstance(model, ScriptedModel):
            raise TypeError(f"the model of the root agent {self.runner.agent.name!r} is not a ScriptedModel: {model!r}")
        return model

    @property
    def requests(self) -> list[LlmRequest]:
        """The requests to the root agent's model, oldest first."""
        return self.model.requests


def _parts(events: Iterable[Event]) -> list[Part]:
    return [
        part
        for event in events
        if event.content is not None and not event.partial
        for part in event.content.parts or ()
    ]


def _waited(result: Coroutine[object, object, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(result)
    result.close()
    raise ConfigurationError(
        "an event loop runs here, as in a notebook: use `await conversation.send(...)` instead of say(), and "
        "`await conversation.stored()` instead of what waits for it"
    )
