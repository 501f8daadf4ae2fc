"""Conversation: an agent, a session and a runner, made from a command's options.

Everything that can be wrong is checked before the session store is opened, so a refused command leaves no file.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from newel import distributions
from newel.artifacts.contract import ArtifactStore
from newel.cli.startup import composition_of
from newel.files.agent_source import AgentSource, load_source
from newel.models.kinds import model_of
from newel.runners import Runner
from newel.sessions.kinds import SessionBackend
from newel_compose import Composition, Distribution, extend, load_yaml, read_text, sqlite_path, without_password
from newel_kernel import BaseAgent, BaseSessionService, ConfigurationError, Json, Session, check_tree, seam
from newel_types import deferred

if TYPE_CHECKING:
    from newel.explanation import CacheWatch

FOLDER = Path(".newel")
_USER = "user"
#: The beginning of an id that newel made, as `newel sessions list` shows it.
_SHORT = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,27}")
_WHOLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONTINUE = f"{__name__}.continue"
_BUILT_IN = Path(str(distributions.__file__)).parent

#: What looks into a store makes a conversation's store, so it lies above this module.
_in_store = deferred("newel.cli.agent_sessions", "in_store")
#: It loads when somebody wants to be told.
_turn_lines = deferred("newel.cli.context_lines", "turn_lines")

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that run and chat share."""

    session: str | None
    user: str
    model: str | None
    sessions: str | None
    distribution: str | None


def _note_continue(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_CONTINUE] = value


def continues(ctx: click.Context) -> bool:
    """Whether the command continues the session that was used last."""
    return bool(ctx.meta.get(_CONTINUE))


def conversation_options(command: Function) -> Function:
    """Declare the options of `Options`, and the AGENT argument before them."""
    decorators: tuple[Callable[[Function], Function], ...] = (
        click.option("--distribution", metavar="NAME|FILE", help="The distribution; by default the current folder's."),
        click.option("--sessions", metavar="URI", help="Where sessions are kept; by default .newel/sessions.db."),
        click.option("--model", metavar="ADDRESS", help="Another model for the root agent, such as demo: or echo:."),
        click.option("--user", default=_USER, show_default=True, help="The user of the session."),
        click.option(
            "--continue",
            is_flag=True,
            expose_value=False,
            callback=_note_continue,
            help="Continue the session that was used last.",
        ),
        click.option(
            "--session",
            metavar="ID",
            help="The session to start or continue, or the beginning of its id; by default a new one.",
        ),
        click.argument("agent"),
    )
    for decorate in decorators:
        command = decorate(command)
    return command


@dataclass(slots=True)
class Conversation:
    """A runner and the session to run it in."""

    runner: Runner
    user: str
    session: str
    #: The AGENT argument and the options of the command line.
    arguments: tuple[str, ...]
    #: Notes what is sent to models, if the user wants to be told after each turn.
    watch: CacheWatch | None = None

    def command(self, name: str, *more: str) -> str:
        """The command line that continues this conversation."""
        agent, *options = self.arguments
        return shlex.join(["newel", name, agent, "--session", self.session, *more, *options])

    @property
    def agent(self) -> BaseAgent:
        """The root agent."""
        return self.runner.agent

    async def stored(self) -> Session | None:
        """The session with its events, as the store has it; None: nothing was said yet."""
        return await self.runner.session_service.get_session(
            app_name=self.runner.app_name, user_id=self.user, session_id=self.session
        )

    async def context_lines(self) -> list[str]:
        """What the latest turn sent to models, in plain words."""
        session = await self.stored()
        explained = self.watch.explanations(self.session) if self.watch is not None else ()
        return list(_turn_lines()(session.events if session is not None else [], explained))

    async def close(self) -> None:
        """Close the agent's toolsets and the stores."""
        try:
            await self.runner.close()
        finally:
            try:
                await self.runner.session_service.close()
            finally:
                if isinstance(self.runner.artifact_service, ArtifactStore):
                    await self.runner.artifact_service.close()


def converse(ctx: click.Context, reference: str, options: Options) -> Conversation:
    """The conversation that a command line asks for; the store is opened last."""
    _check_options(options)
    composition, source = agent_of(ctx, reference, options.model, options.distribution)
    session = options.session
    if continues(ctx):
        session = _last_session(composition, source, options)
    elif session is not None and _SHORT.fullmatch(session):
        session = _whole_id(session, composition, source, options)
    store = store_of(source) if options.sessions is None else None
    store = store or open_store(composition, options.sessions)
    runner = runner_of(source, composition, store)
    return Conversation(runner, options.user, session or seam.new_id(), _arguments(reference, options))


def agent_of(
    ctx: click.Context, reference: str, model: str | None, distribution: str | None, *, asks: bool = True
) -> tuple[Composition, AgentSource]:
    """The composition and the agent that a command line names, checked before a file is made.

    With `asks` the agent's models will be asked, so that a wrong address, a missing SDK or key is told now.
    """
    composition = composition_of(ctx, distribution)
    source = load_source(reference, composition)
    if model is not None:
        override_model(source.agent, model)
    check_tree(source.agent)
    if asks:
        _check_models(source.agent, composition, "")
    extend(composition, source.plugins)
    return composition, source


def _last_session(composition: Composition, source: AgentSource, options: Options) -> str:
    """The id of the user's session that was used last."""
    if options.session is not None:
        raise ConfigurationError("give either --session or --continue, not both")
    listed = _in_store()(composition, source, options.user, options.sessions, lambda stored: stored.listed())
    if not listed:
        raise no_session(options.user, source)
    return str(listed[0].id)


def no_session(user: str, source: AgentSource) -> ConfigurationError:
    """What --continue says if there is nothing to continue."""
    return ConfigurationError(f"the user {user!r} has no session with {source.name!r}; leave out --continue")


def _whole_id(begin: str, composition: Composition, source: AgentSource, options: Options) -> str:
    """The id of the user's session that begins with `begin`; else `begin`, for a new session may have any id."""
    listed = _in_store()(composition, source, options.user, options.sessions, lambda stored: stored.listed())
    ids = [str(one.id) for one in listed]
    matches = [begin] if begin in ids else [id_ for id_ in ids if id_.startswith(begin) and _WHOLE.fullmatch(id_)]
    if len(matches) > 1:
        several = ", ".join(matches[:5])
        raise ConfigurationError(f"{len(matches)} sessions begin with {begin!r}: {several}; give more of the id")
    return matches[0] if matches else begin


def _arguments(reference: str, options: Options) -> tuple[str, ...]:
    values = {name: getattr(options, name) for name in ("model", "sessions", "distribution")}
    values["user"] = options.user if options.user != _USER else None
    return (reference, *(word for name, value in values.items() if value is not None for word in (f"--{name}", value)))


def _check_options(options: Options) -> None:
    """Refuse an option that is empty (mostly an unset shell variable) or has white space around it."""
    for name in ("session", "user", "model", "sessions", "distribution"):
        value = getattr(options, name)
        if value is not None and (not value or value != value.strip()):
            raise ConfigurationError(f"--{name} {value!r} is empty or has spaces around it; change it or leave it out")


def runner_of(source: AgentSource, composition: Composition, store: BaseSessionService) -> Runner:
    """A runner of an agent, or of its app, over the given sessions."""
    return Runner(
        app=source.app,
        node=None if source.app is not None else source.agent,
        composition=composition,
        session_service=store,
        auto_create_session=True,
    )


def override_model(agent: BaseAgent, address: str) -> None:
    """Give the root agent another model."""
    if "model" not in type(agent).model_fields:
        raise ConfigurationError(
            f"--model: the root agent {agent.name!r} is a {type(agent).__name__}, which has no model; "
            f"set the model of its sub-agents"
        )
    agent.model = address


def _check_models(agent: BaseAgent, composition: Composition, inherited: object) -> None:
    """Make every model of the tree now, so that a wrong address, a missing SDK or key does not fail the run later."""
    if "model" in type(agent).model_fields:
        model = getattr(agent, "model", None) or inherited
        if isinstance(model, str):
            model_of(composition, model)
        inherited = model
    for child in agent.sub_agents:
        _check_models(child, composition, inherited)


def store_of(source: AgentSource) -> BaseSessionService | None:
    """The session store that an app brings along, or None."""
    return getattr(source.app, "session_service", None)


def open_store(composition: Composition, uri: str | None) -> BaseSessionService:
    """The session store of --sessions, else of a distribution that sets one, else in .newel here."""
    uri = store_uri(composition, uri)
    try:
        store: BaseSessionService | None = composition.open_service(SessionBackend, uri)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(
            f"the sessions at {without_password(uri or '')!r} cannot be opened: {error}; give others with --sessions"
        ) from error
    if store is None:
        raise ConfigurationError(
            f"the distribution {composition.distribution.name!r} has no session store, because services.session is "
            f"empty: set one, such as sqlite:///sessions.db, or give --sessions URI"
        )
    return store


def store_uri(composition: Composition, uri: str | None) -> str | None:
    """The URI of --sessions, else of the store in .newel here; None: the distribution sets one."""
    if uri is not None or _sets_sessions(composition.distribution):
        return uri
    composition.registry.find(SessionBackend, "sqlite")
    return f"sqlite:///{data_folder() / 'sessions.db'}"


def sessions_here(composition: Composition, uri: str | None) -> str:
    """The URI of --sessions, else the distribution's, else of the store in .newel here, which may not exist."""
    if uri is not None:
        return uri
    if _sets_sessions(composition.distribution):
        return composition.distribution.services.get("session", "")
    return f"sqlite:///{FOLDER / 'sessions.db'}"


def is_elsewhere(source: AgentSource, composition: Composition, uri: str | None) -> bool:
    """Whether --sessions names another place than the agent's own."""
    if uri is None:
        return False
    if store_of(source) is not None:
        return True
    own = sessions_here(composition, None)
    if uri.startswith("sqlite:") and own.startswith("sqlite:"):
        chosen_path, own_path = (sqlite_path(one, "session store", ("sqlite",)) for one in (uri, own))
        return os.path.realpath(chosen_path) != os.path.realpath(own_path)
    return uri != own


def data_folder() -> Path:
    """The folder .newel here; its contents stay out of version control."""
    try:
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        ignore = FOLDER / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"the folder {FOLDER} cannot be created here: {error.strerror or error}; give --sessions URI"
        ) from error
    return FOLDER


def _sets_sessions(distribution: Distribution) -> bool:
    """Whether a distribution other than newel's own says where sessions are kept."""
    return any("session" in (data.get("services") or {}) for data in _own_files(distribution))


def _own_files(distribution: Distribution) -> Iterator[Json]:
    """The data of the distribution's file and of the files that it extends, up to newel's own."""
    path = Path(distribution.source)
    while path.is_file() and path.resolve().parent != _BUILT_IN.resolve():
        data = load_yaml(read_text(path), str(path))
        yield data
        base = data.get("extends")
        if not isinstance(base, str):
            return
        path = path.parent / base
