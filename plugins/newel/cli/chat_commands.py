"""Chat commands: lines that begin with a slash, which are for the chat and not for the agent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from newel.cli.conversation import Conversation, override_model
from newel.cli.stored_session import write_document
from newel.cli.terminal import say
from newel.models.kinds import model_of
from newel_kernel import BaseAgent, ConfigurationError, did_you_mean
from newel_types import deferred

_MARK = "/"
#: They load with the first report.
_lines_of = deferred("newel.cli.cache", "lines_of")
_cache_reports = deferred("newel.explanation.caches", "cache_reports")
_cache_watch = deferred("newel.explanation.prefixes", "CacheWatch")


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command. `run` gets the words after the command's name; the chat ends if it returns True."""

    help: str
    run: Callable[[Conversation, str], Awaitable[bool]]


def is_command(line: str) -> bool:
    """Whether a line is for the chat: a slash followed by a letter."""
    return line.startswith(_MARK) and line[1:2].isalpha()


async def run_command(conversation: Conversation, line: str) -> bool:
    """Run the line's command; return whether the chat is over. A ConfigurationError says what is wrong with it."""
    name, _, rest = line[1:].strip().partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, COMMANDS) or "; /help lists the commands"
        raise ConfigurationError(f"there is no command /{name}{hint} (a space before the slash sends the line)")
    return await command.run(conversation, rest.strip())


async def _help(conversation: Conversation, rest: str) -> bool:
    for name, command in COMMANDS.items():
        say(f"  /{name:<7} {command.help}", dim=True)
    say("  Enter sends, Alt-Enter begins a line; Ctrl-C stops an answer, Ctrl-D leaves", dim=True)
    return False


async def _quit(conversation: Conversation, rest: str) -> bool:
    return True


async def _model(conversation: Conversation, rest: str) -> bool:
    agent = conversation.agent
    if rest:
        model_of(conversation.runner.composition, rest)  # reports a wrong address, a missing SDK or key at once
        override_model(agent, rest)
    model = getattr(agent, "model", None) or "the distribution's default"
    say(f"  {agent.name}: {model if isinstance(model, str) else model.model}", dim=True)
    return False


async def _state(conversation: Conversation, rest: str) -> bool:
    session = await conversation.stored()
    state = session.state if session is not None else {}
    say(json.dumps(dict(state), indent=2, ensure_ascii=False, default=str), dim=True)
    return False


async def _agents(conversation: Conversation, rest: str) -> bool:
    def show(agent: BaseAgent, depth: int) -> None:
        text = f": {agent.description}" if agent.description else ""
        say(f"  {'  ' * depth}{agent.name} ({type(agent).__name__}){text}", dim=True)
        for child in agent.sub_agents:
            show(child, depth + 1)

    show(conversation.agent, 0)
    return False


async def _cache(conversation: Conversation, rest: str) -> bool:
    session = await conversation.stored()
    for line in _lines_of()(_cache_reports()(session.events if session is not None else [])):
        say(f"  {line}", dim=True)
    return False


async def _context(conversation: Conversation, rest: str) -> bool:
    watch = conversation.watch
    if rest not in ("", "on", "off"):
        raise ConfigurationError(f"/context takes on, off or nothing, not {rest!r}")
    if rest == "on" and watch is None:
        conversation.watch = _cache_watch()(conversation.runner)
    elif rest == "off" and watch is not None:
        watch.close()
        conversation.watch = None
    if rest:
        say(f"  each turn is {'followed by' if rest == 'on' else 'no longer followed by'} what it sent", dim=True)
        return False
    for line in await conversation.context_lines():
        say(f"  {line}", dim=True)
    return False


async def _save(conversation: Conversation, rest: str) -> bool:
    session = await conversation.stored()
    if session is None:
        raise ConfigurationError("nothing was said yet, so there is nothing to save")
    file = Path(rest or f"session-{session.id}.json")
    write_document(session, file)
    say(f"  saved in {file}", dim=True)
    return False


COMMANDS = {
    "help": ChatCommand("this list", _help),
    "quit": ChatCommand("leave, as Ctrl-D does", _quit),
    "model": ChatCommand("the root agent's model; /model ADDRESS changes it for this chat", _model),
    "state": ChatCommand("the session's state", _state),
    "agents": ChatCommand("the agents of this tree", _agents),
    "cache": ChatCommand("what was read from the provider's cache, paid twice and cleared", _cache),
    "context": ChatCommand("what the last turn sent; /context on tells it after each turn", _context),
    "save": ChatCommand("write the session as JSON; /save FILE", _save),
}
