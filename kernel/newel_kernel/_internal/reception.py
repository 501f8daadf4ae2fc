"""Reception: the user's message comes in, as a new invocation or into one that waits."""

from __future__ import annotations

from operator import attrgetter

from newel_kernel._internal.errors import ConfigurationError
from newel_kernel._internal.events import Event, EventActions, as_message
from newel_kernel._internal.invocation import InvocationContext
from newel_kernel._internal.lifecycle import ask
from newel_kernel._internal.routing import find_call_event, open_scope
from newel_kernel._internal.values import Json
from newel_types import Content, Part, deep_copy


def received(message: object) -> Content:
    """The caller's message as a Content of our own: validated, with a role, and not shared with the caller.

    Takes a Content (ours or google-genai's), a dict, a string or parts.
    """
    content = message if isinstance(message, Content) else as_message(message)
    parts = content.parts
    if not parts:
        raise ConfigurationError("the message has no parts; pass text or at least one part")
    return Content(role=content.role or "user", parts=[_own(part) for part in parts])


#: Everything in a part but the text and what says how it was meant.
_beside_text = attrgetter(*(n for n in Part.field_names if n not in ("text", "thought", "thought_signature")))
_NOTHING_BESIDE = (None,) * (len(Part.field_names) - 3)


def _own(part: Part) -> Part:
    text = part.text
    if text is not None and _beside_text(part) == _NOTHING_BESIDE:
        if type(text) is not str:
            raise ConfigurationError(f"a message part's text must be a string, not {type(text).__name__}")
        return Part(text=text, thought=part.thought, thought_signature=part.thought_signature)
    return Part.model_validate(part.model_dump())


def response_ids(content: Content | None) -> set[str | None]:
    """The call ids that the function responses in `content` answer."""
    parts = content.parts if content is not None else None
    return {p.function_response.id for p in parts or () if p.function_response is not None}


async def receive(ctx: InvocationContext, state_delta: Json | None) -> list[Event]:
    """Let plugins see the message, then append it to the session with `state_delta` (S0 §1.2)."""
    assert ctx.user_content is not None
    for prologue in ctx.composition.prologues:
        for added in await prologue.run(ctx) or ():
            await ctx.session_service.append_event(ctx.session, added)
    if "on_user_message_callback" in ctx.composition.hooks:
        keywords = {"invocation_context": ctx, "user_message": ctx.user_content}
        changed = await ask(ctx, "on_user_message_callback", keywords)
        if changed is not None:
            ctx.user_content = changed
    for prologue in ctx.composition.late_prologues:
        for added in await prologue.run(ctx) or ():
            await ctx.session_service.append_event(ctx.session, added)
    told = _by_asker(ctx, ctx.user_content)
    if state_delta:
        told[0].actions = EventActions(state_delta=deep_copy(state_delta))
    for event in told:
        await ctx.session_service.append_event(ctx.session, event)
    return told


def _by_asker(ctx: InvocationContext, content: Content) -> list[Event]:
    """The event of the message; of answers to several askers that pause, one for each, on its branch."""
    if not (ids := response_ids(content)):
        scope = open_scope(ctx.session.events)
        return [Event(invocation_id=ctx.invocation_id, author="user", content=content, isolation_scope=scope)]
    events = ctx.session.events
    asked = {id_: find_call_event(events, {id_}) for id_ in ids}
    if unknown := sorted(str(id_) for id_, event in asked.items() if event is None):
        raise ConfigurationError(f"the message answers tool call(s) {unknown} that the session does not have")
    latest = find_call_event(events, ids)
    assert latest is not None
    groups: dict[tuple[str | None, str | None], list[Part]] = {}
    where = _conversation(latest)
    for part in content.parts or ():
        asker = asked.get(part.function_response.id) if part.function_response is not None else None
        if asker is not None and ctx.is_resumable:
            where = _conversation(asker)
        groups.setdefault(where, []).append(part)
    told: Json = {"invocation_id": ctx.invocation_id, "author": "user"}
    if len(groups) == 1:
        return [Event(**told, content=content, branch=where[0], isolation_scope=where[1])]
    contents = [(key, Content(role=content.role, parts=parts)) for key, parts in groups.items()]
    return [Event(**told, content=one, branch=branch, isolation_scope=scope) for (branch, scope), one in contents]


def _conversation(asker: Event) -> tuple[str | None, str | None]:
    """The branch and the scope of an answer: the asker's. The question of a graph's own code is on no branch."""
    spoken = asker.content is not None and asker.content.role is not None
    return (asker.branch if spoken else None), asker.isolation_scope
