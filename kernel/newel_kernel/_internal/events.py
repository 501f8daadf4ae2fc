"""Event and EventActions: the unit of everything that happens in a session, and its side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, field
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from newel_kernel._internal import seam
from newel_kernel._internal.contracts.response import NO_SPARSE, LlmResponse
from newel_kernel._internal.values import Json
from newel_types import (
    Content,
    FrozenEmptyDict,
    FunctionCall,
    FunctionResponse,
    Part,
    Record,
    UnmadeFields,
    UserContent,
    WireModel,
    coerce,
    forbid_extra,
    freeze,
    late,
    lazy,
    record,
)

if TYPE_CHECKING:
    from newel_types import AuthConfig
else:  # loads with the first request for a credential
    AuthConfig = late("auth:AuthConfig")


class EventCompaction(WireModel):
    """A summary that stands for the events between two timestamps (seconds since the epoch, both inclusive)."""

    start_timestamp: float
    end_timestamp: float
    compacted_content: Content


class ToolConfirmation(WireModel):
    """A request to confirm a tool call (`hint`, `payload`), or the user's answer to it (`confirmed`)."""

    hint: str = ""
    confirmed: bool = False
    payload: Any = None


@record
class NodeInfo(Record):
    """Where in a workflow graph an event comes from."""

    path: str = ""
    output_for: list[str] | None = None
    message_as_output: bool | None = None
    #: With an output: the route that the next event will name.
    route: Any = None
    #: The checkpoint: the runs that ended before this event was committed, each path with its NodeState.
    nodes: dict[str, Json] | None = None


#: The error code of an answer that was refused, and for which the model is asked again.
INVALID_OUTPUT = "INVALID_OUTPUT"


@forbid_extra
@record
class EventActions(Record):
    """The side effects that an event carries; they take effect when it is committed."""

    skip_summarization: bool | None = None
    state_delta: Json = field(default_factory=dict)
    artifact_delta: dict[str, int] = field(default_factory=dict)
    transfer_to_agent: str | None = None
    escalate: bool | None = None
    requested_auth_configs: dict[str, AuthConfig] = field(default_factory=dict)
    requested_tool_confirmations: dict[str, ToolConfirmation] = field(default_factory=dict)
    compaction: EventCompaction | None = None
    end_of_agent: bool | None = None
    agent_state: Json | None = None
    rewind_before_invocation_id: str | None = None
    route: Any = None
    render_ui_widgets: list[Any] | None = None
    set_model_response: Any = None


@record
class Event(LlmResponse):
    """One thing that happened: a message, a tool call or result, a state change, a signal.

    `author` is 'user' or an agent's name. `actions` and `node_info` exist only once touched; readers on
    the hot path look at `touched_actions`, which may be None.
    """

    invocation_id: str = ""
    author: str = ""
    actions: EventActions = None  # type: ignore[assignment]  # made when first touched, see below
    output: Any = None
    node_info: NodeInfo = None  # type: ignore[assignment]  # likewise
    long_running_tool_ids: set[str] | None = None
    branch: str | None = None
    isolation_scope: str | None = None
    id: str = ""
    timestamp: float = None  # type: ignore[assignment]  # now, if none is given
    #: The actions if something has touched them, else None; reading this creates nothing.
    touched_actions: ClassVar[EventActions | None]
    touched_node_info: ClassVar[NodeInfo | None]
    message: InitVar[Any] = None
    state: InitVar[Json | None] = None
    route: InitVar[Any] = None

    def __init__(  # not keyword-only: the defaults of those are looked up one by one
        self,
        invocation_id: str = "",
        author: str = "",
        content: Any = None,
        partial: bool | None = None,
        actions: EventActions | None = None,
        branch: str | None = None,
        isolation_scope: str | None = None,
        long_running_tool_ids: set[str] | None = None,
        output: Any = None,
        node_info: NodeInfo | None = None,
        id: str = "",
        timestamp: float | None = None,
        message: object = None,
        state: Json | None = None,
        route: Any = None,
        **of_response: Any,
    ) -> None:
        """`message`, `state` and `route` are shorthands for content, actions.state_delta and actions.route."""
        self.content = content
        self.partial = partial
        self.model_version = self.finish_reason = self.custom_metadata = self.usage_metadata = None
        self.sparse_values = NO_SPARSE
        self.invocation_id = invocation_id
        self.author = author
        if actions is not None and actions.__class__ is not EventActions:
            actions = _as_actions(actions)
        self.touched_actions = actions  # type: ignore[misc]  # the slot of `actions`, see below
        self.touched_node_info = None if node_info is None else coerce(NodeInfo, node_info)  # type: ignore[misc]
        self.branch = branch
        self.isolation_scope = isolation_scope
        if long_running_tool_ids is not None and long_running_tool_ids.__class__ is not set:
            long_running_tool_ids = set(long_running_tool_ids)
        self.long_running_tool_ids = long_running_tool_ids
        self.output = output
        self.id = id or seam.new_id()
        self.timestamp = seam.clock() if timestamp is None else timestamp
        if of_response:
            LlmResponse.__init__(self, content, partial, **of_response)
        if content.__class__ not in _COMPLETE or message is not None or state is not None or route is not None:
            self.__post_init__(message, state, route)

    def __post_init__(self, message: Any = None, state: Any = None, route: Any = None) -> None:
        """Complete an event that is not made of plain fields; validation calls this in place of the constructor."""
        LlmResponse.__post_init__(self)
        if not self.id:
            self.id = seam.new_id()
        if self.timestamp is None:
            self.timestamp = seam.clock()
        if message is not None:
            if self.content is not None:
                raise ValueError("Event takes either `content` or `message`, not both")
            self.content = as_message(message)
        if state is not None:
            self.actions.state_delta.update(state)
        if route is not None:
            self.actions.route = route

    @property
    def text(self) -> str:
        """The joined texts of the content, without thoughts; empty if there are none."""
        parts = self.content.parts if self.content is not None else None
        return "".join([part.text for part in parts or () if part.text and not part.thought])

    def get_function_calls(self) -> list[FunctionCall]:
        """The tool calls in the content, in order."""
        parts = self.content.parts or () if self.content is not None else ()
        for part in parts:  # most events have none
            if part.function_call is not None:
                return [p.function_call for p in parts if p.function_call is not None]
        return []

    def get_function_responses(self) -> list[FunctionResponse]:
        """The tool results in the content, in order."""
        parts = self.content.parts or () if self.content is not None else ()
        for part in parts:
            if part.function_response is not None:
                return [p.function_response for p in parts if p.function_response is not None]
        return []

    def has_trailing_code_execution_result(self) -> bool:
        """Whether the last part is the result of executed code."""
        parts = self.content.parts if self.content is not None else None
        return bool(parts) and parts[-1].code_execution_result is not None  # type: ignore[index]

    def is_final_response(self) -> bool:
        """Whether the agent's turn ends here: nothing is left to execute or to summarise.

        Specified in docs/reference/behaviour.md#final-responses.
        """
        actions = self.touched_actions
        if self.long_running_tool_ids or (actions is not None and actions.skip_summarization):
            return True
        if self.partial:
            return False
        parts = self.content.parts if self.content is not None else None
        if not parts:  # actions alone are not an answer
            answers = self.content is not None or any(getattr(self, name) for name in LlmResponse.sparse)
            return answers or actions is None or actions == _NO_ACTIONS
        for part in parts:
            if part.function_call is not None or part.function_response is not None:
                return False
        if self.sparse_values is not NO_SPARSE and self.error_code == INVALID_OUTPUT:
            return False  # another answer is asked for
        return parts[-1].code_execution_result is None

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Event:
        """An unfrozen copy with `update` applied and its own actions."""
        actions, node_info = self.touched_actions, self.touched_node_info
        with UnmadeFields(self, _LAZY):
            new = Record.model_copy(self, deep=deep)
        new.touched_actions = None if actions is None else actions.model_copy(deep=deep)  # type: ignore[misc]
        new.touched_node_info = node_info  # type: ignore[misc]
        for name, value in (update or {}).items():
            setattr(new, name, value)
        return new

    def model_dump(self, *, mode: Literal["python", "json"] = "python", **options: Any) -> Json:
        """A dict, as pydantic's ``model_dump``; dumping does not count as touching the actions."""
        with UnmadeFields(self, _LAZY):
            return Record.model_dump(self, mode=mode, **options)

    def model_dump_json(self, **options: Any) -> str:
        """JSON text, as pydantic's ``model_dump_json``."""
        if self.__class__ is _FrozenEvent:  # reading makes nothing
            return Record.model_dump_json(self, **options)
        with UnmadeFields(self, _LAZY):
            return Record.model_dump_json(self, **options)

    def __repr__(self) -> str:
        lazy = {"actions": self.touched_actions, "node_info": self.touched_node_info}
        values = {name: lazy[name] if name in lazy else getattr(self, name) for name in self.field_names}
        return f"Event({', '.join(f'{name}={value!r}' for name, value in values.items() if value is not None)})"

    @staticmethod
    def new_id() -> str:
        """A new event id."""
        return seam.new_id()


#: The classes of an event's content that need no conversion.
_COMPLETE = frozenset((Content, NoneType))
_ACTIONS: Any = Event.__dict__["actions"]
_NODE_INFO: Any = Event.__dict__["node_info"]
_NO_ACTIONS = EventActions()
_LAZY = (_ACTIONS, _NODE_INFO)
_FrozenEvent = Event._frozen
_FrozenActions = EventActions._frozen
_EMPTY = EventActions(
    state_delta=FrozenEmptyDict(),
    artifact_delta=FrozenEmptyDict(),
    requested_auth_configs=FrozenEmptyDict(),
    requested_tool_confirmations=FrozenEmptyDict(),
)
_EMPTY.__class__ = _FrozenActions
Event.touched_node_info = _NODE_INFO
Event.touched_actions = _ACTIONS  # the slot itself, under another name: no call is made to read it
Event.actions = lazy(_ACTIONS, EventActions, _FrozenEvent, _EMPTY)
Event.node_info = lazy(_NODE_INFO, NodeInfo, _FrozenEvent, NodeInfo())


def freeze_event(event: Event) -> Event:
    """Freeze a committed event and its content, in place. A subclass of Event keeps its class, unfrozen."""
    if event.content is not None:
        freeze(event.content)
    if event.__class__ is Event:
        actions = event.touched_actions
        if actions is not None and actions.__class__ is EventActions:
            actions.__class__ = _FrozenActions
        event.__class__ = _FrozenEvent
    return event


def _as_actions(value: object) -> EventActions:
    """EventActions from a dict or a foreign object; pydantic's ValidationError if it does not fit."""
    actions: EventActions = coerce(EventActions, value)
    if isinstance(value, dict):  # written by hand: a field that is unknown is a misspelt one
        EventActions(**getattr(actions, "_extra", None) or {})
    return actions


def as_message(message: object) -> Content:
    """A Content from a string, a part, a list of them, a Content or a dict."""
    if isinstance(message, Content):
        return message
    if isinstance(message, str):
        return Content(role="user", parts=[Part(text=message)])
    if isinstance(message, (Part, list)) or type(message).__name__ == "Part":  # google-genai's, too
        return UserContent(message)
    return coerce(Content, message)  # type: ignore[no-any-return]
