"""Reception: take in the user's message, for a new invocation or for one that waits."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event, EventActions, as_message
from newel_kernel._internal.invocation import InvocationContext, Mode
from newel_kernel._internal.lifecycle import ask
from newel_kernel._internal.log import Turn
from newel_kernel._internal.run_config import RunConfig
from newel_kernel._internal.values import Json
from newel_types import Content, Part, deep_copy, is_text, well_formed


@dataclass(slots=True, eq=False)
class Message:
    """What comes in for one invocation."""

    #: A Content, text, or a tool's result; None: the invocation resumes, or its mode takes in what the user says.
    content: object = None
    #: The invocation to resume.
    invocation_id: str | None = None
    #: State that is stored with the message.
    state_delta: Json | None = None
    #: Whether the event of the message is yielded, too.
    yielded: bool = False
    #: How the invocation runs, if not from the message to an answer.
    mode: Mode | None = None
    #: What the caller hands to the code of the run; never stored.
    deps: object = None


def received(message: object) -> Content:
    """The caller's message as a Content of our own: validated, with a role, and not shared with the caller.

    Takes a Content (ours or google-genai's), a dict, a string or parts.
    """
    parts = (content := as_message(message)).parts
    # A list of another library's messages has parts without anything.
    if not parts or (isinstance(message, list) and any(part in (None, Part()) for part in parts)):
        form = ', as in {"parts": [{"text": "hello"}]}' if isinstance(message, (dict, list)) else ""
        fault = "an empty part" if parts else "no parts"
        raise ConfigurationError(f"the message has {fault}; pass text or at least one part{form}")
    return Content([_own(part) for part in parts], content.role or "user")


def _own(part: Part) -> Part:
    if is_text(part):
        if type(text := part.text) is not str:
            raise ConfigurationError(f"a message part's text must be a string, not {type(text).__name__}")
        return Part(text if text.isascii() else well_formed(text), None, None, part.thought, part.thought_signature)
    return Part.model_validate(well_formed(part.model_dump()))


async def receive(ctx: InvocationContext, turn: Turn, state_delta: Json | None, *, amid: bool = False) -> list[Event]:
    """Append the message to the session with `state_delta`; without a message, an event of the latter alone.

    `amid`: while a run has the session, which is then not to be put in order for a new invocation.
    Specified in docs/reference/behaviour.md#receiving-a-message.
    """
    events = messages = await _messages(ctx, turn, amid) if turn.content is not None else []
    if state_delta:
        events = messages or [Event(invocation_id=ctx.invocation_id, author="system")]  # it is nobody's word
        events[0].actions = EventActions(state_delta=well_formed(deep_copy(state_delta)))
    for event in events:
        stamp(event, ctx.run_config)
        await ctx.session_service.append_event(ctx.session, event)
    return messages


async def _messages(ctx: InvocationContext, turn: Turn, amid: bool) -> list[Event]:
    """The events of the message, as plugins have changed it."""
    assert ctx.user_content is not None
    chains = ctx.composition
    for prologue in (
        [one for one in chains.prologues if one.amid]
        if amid
        else (chains.prologues if ctx.continues else chains.fresh_prologues)
    ):
        if (events := prologue.run(ctx)) is not None:  # else a plain function has run
            await _commit(ctx, events)
    if "on_user_message_callback" in chains.hooks:
        keywords = {"invocation_context": ctx, "user_message": ctx.user_content}
        changed = await ask(ctx, "on_user_message_callback", keywords)
        if changed is not None:
            ctx.user_content = changed
    for prologue in chains.late_prologues:
        if (events := prologue.run(ctx)) is not None:
            await _commit(ctx, events)
    if ctx.user_content is not turn.content:
        turn = turn.log.turn(ctx.user_content)
        ctx.continues = ctx.continues or bool(turn.answered)
    return chains.turns.messages(ctx, turn)


def stamp(event: Event, config: RunConfig) -> None:
    """Put the run's metadata on `event`; if both have a key, the event's own value stays."""
    if config.custom_metadata:
        event.custom_metadata = {**config.custom_metadata, **(event.custom_metadata or {})}


async def _commit(ctx: InvocationContext, events: Awaitable[Sequence[Event] | None]) -> None:
    for event in await events or ():
        stamp(event, ctx.run_config)
        await ctx.session_service.append_event(ctx.session, event)
