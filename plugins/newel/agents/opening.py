"""Opening: the beginning of the conversation of an isolated run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from newel.contexts.model_data import model_json
from newel_kernel import Event, InvocationContext, Json
from newel_types import Content, Part, freeze, thaw


class Opening:
    """The input that replaces the user's message for an agent, and the events of its conversation.

    `since` is the index in the session of the first event that can belong to the run. `own` are the ids of the run's
    events so far, or None if the isolation scope identifies them.
    """

    __slots__ = ("agent", "content", "histories", "lengths", "own", "since")

    def __init__(self, agent: str, content: Content, since: int, own: set[str] | None) -> None:
        self.agent = agent
        self.content = freeze(content)
        self.since = since
        self.own = own
        #: The conversation as each agent in it sees it, by the agent's name; `newel.flows` fills it during the run.
        self.histories: Json = {}
        #: How many answers the latest run of an agent before this one had, by the agent's name; None: there was none.
        self.lengths: dict[str, int | None] = {}

    def own_events(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that can belong to the run."""
        tail = events[self.since :] if self.since else events
        own = self.own
        return tail if own is None else [event for event in tail if event.id in own]


def as_opening(node_input: object) -> Content:
    """`node_input` as a message: a Content's parts, a text, a model, a dict or a list as JSON."""
    if isinstance(node_input, Content):
        return Content(role="user", parts=list(thaw(node_input).parts or ()))
    if isinstance(node_input, str):
        text = node_input
    elif isinstance(node_input, BaseModel):
        text = to_json(model_json(node_input)).decode()
    elif isinstance(node_input, (dict, list, tuple)):
        text = json.dumps(to_jsonable_python(node_input, fallback=str), ensure_ascii=False)
    else:
        text = str(node_input)
    return Content(role="user", parts=[Part(text=text)])


def opening_of(ctx: InvocationContext) -> Opening | None:
    """The opening of the isolated run that the agent is in; None if it is in the session's own conversation."""
    return ctx.opening if isinstance(ctx.opening, Opening) else None


def mode_of(ctx: InvocationContext) -> str:
    """How the agent converses: 'chat', 'task' or 'single_turn'.

    An agent without a mode chats, except the agent that an isolated run was started for: it answers once.
    """
    mode: str | None = getattr(ctx.agent, "mode", None)
    if mode is not None:
        return mode
    opening = opening_of(ctx)
    return "single_turn" if opening is not None and opening.agent == ctx.agent.name else "chat"
