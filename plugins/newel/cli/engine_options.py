"""Engine options: the engine, the store and the runner that a command about submitted runs works with."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from newel.cli.conversation import Conversation, open_store, store_of
from newel.cli.exit import run_loop
from newel.cli.startup import composition_of
from newel.engines import BaseEngine, RunRecord
from newel.engines.kinds import EngineBackend
from newel.files.agent_source import AgentSource, load_source
from newel.runners import Runner
from newel_compose import Composition, without_password
from newel_kernel import ConfigurationError, did_you_mean

T = TypeVar("T")
#: How many runs are looked at for one whose id begins with something.
_LOOKED_AT = 1000
_SESSIONS = "--sessions"


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the AGENT argument, --sessions and --engine."""
    for decorate in (
        click.option("--engine", metavar="URI", help="The engine; by default the distribution's."),
        click.option(_SESSIONS, metavar="URI", help="Where sessions are kept; by default .newel/sessions.db."),
        click.argument("agent"),
    ):
        command = decorate(command)
    return command


def open_engine(composition: Composition, uri: str | None) -> BaseEngine:
    """The engine of --engine, else the distribution's; it is one that processes share."""
    address = uri if uri is None or ":" in uri else f"{uri}:"
    engine: BaseEngine | None = composition.open_service(EngineBackend, address)
    if engine is None or engine.in_process:
        raise ConfigurationError(
            "no engine that processes share: set services.engine of the distribution, or give --engine URI, such as "
            "dbos://postgres@127.0.0.1/newel (pip install newel-dbos)"
        )
    return engine


@dataclass(frozen=True, slots=True)
class EngineRuns:
    """The runs of an agent's app in an engine."""

    agent: str
    runner: Runner
    engine: BaseEngine
    #: The --sessions and --engine that were given.
    options: tuple[str, ...] = ()

    def command(self, name: str, *words: str) -> str:
        """A command line about these runs that works as this one does. It shows no password: the user adds that."""
        return shlex.join(["newel", *name.split(), self.agent, *words, *self.options])

    async def named(self, text: str) -> RunRecord:
        """The run with that invocation id, or the only one whose id begins with it."""
        app = self.runner.app_name
        if (record := await self.engine.record(f"{app}:{text.removeprefix(f'{app}:')}")) is not None:
            return record
        records = await self.engine.records(app_name=app, most=_LOOKED_AT)
        matches = [one for one in records if text and one.spec.invocation_id.startswith(text)]
        if len(matches) > 1:
            several = ", ".join(one.spec.invocation_id for one in matches[:5])
            raise ConfigurationError(f"{len(matches)} runs begin with {text!r}: {several}; give more of the id")
        if not matches:
            ids = [one.spec.invocation_id for one in records]
            hint = did_you_mean(text, ids) or f"; `{self.command('runs list')}` shows them"
            raise ConfigurationError(f"the engine has no run {text!r} of {app!r}{hint}")
        return matches[0]

    def conversation(self, user: str, session: str) -> Conversation:
        """The conversation that a run is part of."""
        sessions = self.options[:2] if self.options[:1] == (_SESSIONS,) else ()
        return Conversation(self.runner, user, session, (self.agent, "--user", user, *sessions))


def with_engine(
    ctx: click.Context,
    agent: str,
    sessions: str | None,
    engine: str | None,
    work: Callable[[EngineRuns], Awaitable[T]],
) -> T:
    """The result of `work` on the runs of AGENT; the engine and the store are closed afterwards."""
    composition = composition_of(ctx, None)
    source = load_source(agent, composition)

    async def run() -> T:
        opened = open_engine(composition, engine)
        try:
            store = (store_of(source) if sessions is None else None) or open_store(composition, sessions)
            try:
                runner = _runner(source, composition, store, opened)
                return await work(EngineRuns(agent, runner, opened, _given(sessions, engine)))
            finally:
                await store.close()
        finally:
            await opened.close()

    return run_loop(run())


def _given(sessions: str | None, engine: str | None) -> tuple[str, ...]:
    pairs = ((_SESSIONS, sessions), ("--engine", engine))
    return tuple(word for name, uri in pairs if uri is not None for word in (name, without_password(uri)))


def _runner(source: AgentSource, composition: Composition, store: Any, engine: BaseEngine) -> Runner:
    return Runner(
        app=source.app,
        node=None if source.app is not None else source.agent,
        composition=composition,
        session_service=store,
        auto_create_session=True,
        engine=engine,
    )
