"""The wire: events and sessions as the bytes of google-adk's JSON, made once and straight from the objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeGuard

from pydantic_core import to_json

from newel.server.redaction import without_secrets
from newel_kernel import BaseAgent, Event, Session
from newel_types import deferred

_NO_ACTIONS = (
    b',"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}'
)
#: (no actions, no node info) -> what a dump leaves out, because it would be made for it.
_UNTOUCHED: Mapping[tuple[bool, bool], dict[str, Any]] = {
    (True, True): {"actions": True, "node_info": True},
    (True, False): {"actions": True},
    (False, True): {"node_info": True},
    (False, False): {},
}
Paths = Mapping[str, bytes]
_JSON: dict[str, Any] = {"by_alias": True, "exclude_none": True}
#: The fields that few events have.
_others = attrgetter(
    "touched_actions",
    "touched_node_info",
    "sparse_values",
    "model_version",
    "finish_reason",
    "custom_metadata",
    "output",
    "long_running_tool_ids",
    "branch",
    "isolation_scope",
)
_NO_OTHERS = (None, None, Event.no_sparse, *[None] * 7)


#: What an agent needs loads with the first one.
_agent_type = deferred("newel.agents", "LlmAgent")


class Wire:
    """Writes the events of an app.

    With the `root` of its agents, an event that carries no place says where in the tree its author is.
    """

    __slots__ = ("_nowhere", "_paths")

    def __init__(self, root: BaseAgent | None = None) -> None:
        self._paths: Paths = _paths(root, "") if _is_llm_agent(root) else {}
        self._nowhere = b"" if root is None else b',"nodeInfo":{"path":""}'

    def event(self, event: Event) -> bytes:
        """An event as a JSON object, without a graph's checkpoint, which no client can use."""
        event = without_secrets(event)
        if _others(event) == _NO_OTHERS and getattr(event, "_extra", None) is None:
            return self._plain(event)
        actions, node_info = event.touched_actions, event.touched_node_info
        exclude: Any = _UNTOUCHED[actions is None, node_info is None]
        if node_info is not None and node_info.nodes is not None:
            exclude = {**exclude, "node_info": {"nodes"}}
        data = event.model_dump_json(by_alias=True, exclude_none=True, exclude=exclude).encode()
        if actions is not None and node_info is not None:
            return data
        return b"".join(
            (
                data[:-1],
                _NO_ACTIONS if actions is None else b"",
                b"" if node_info is not None else self._paths.get(event.author, self._nowhere),
                b"}",
            )
        )

    def _plain(self, event: Event) -> bytes:
        """The same for an event that holds no more than most do; it takes a quarter of the time."""
        content, usage = event.content, event.usage_metadata
        return b"".join(
            (
                b"{",
                b"" if content is None else b'"content":' + content.model_dump_json(**_JSON).encode() + b",",
                b"" if usage is None else b'"usageMetadata":' + usage.model_dump_json(**_JSON).encode() + b",",
                b"" if event.partial is None else b'"partial":true,' if event.partial else b'"partial":false,',
                b'"invocationId":',
                to_json(event.invocation_id),
                b',"author":',
                to_json(event.author),
                b',"id":',
                to_json(event.id),
                b',"timestamp":',
                to_json(event.timestamp),
                _NO_ACTIONS,
                self._paths.get(event.author, self._nowhere),
                b"}",
            )
        )

    def events(self, events: Iterable[Event]) -> bytes:
        """A JSON array of events."""
        return b"[" + b",".join(map(self.event, events)) + b"]"

    def session(self, session: Session, events: Sequence[Event] | None = None) -> bytes:
        """A session with its events."""
        head = to_json({"id": session.id, "appName": session.app_name, "userId": session.user_id})
        return b"".join(
            (
                head[:-1],
                b',"state":',
                to_json(session.state, inf_nan_mode="null"),
                b',"events":',
                self.events(session.events if events is None else events),
                b',"lastUpdateTime":',
                to_json(session.last_update_time),
                b"}",
            )
        )

    def frames(self, event: Event) -> Iterable[bytes]:
        """An event as it is streamed: one with content and an artifact delta is two, with one id."""
        actions = event.touched_actions
        if actions is None or not actions.artifact_delta or event.content is None or not event.content.parts:
            return (self.event(event),)
        without = event.model_copy()
        without.actions = actions.model_copy(update={"artifact_delta": {}})
        rest = event.model_copy(update={"content": None})
        rest.actions = actions.model_copy()
        return (self.event(without), self.event(rest))


def _is_llm_agent(agent: BaseAgent | None) -> TypeGuard[BaseAgent]:
    return agent is not None and isinstance(agent, _agent_type())


def _paths(agent: BaseAgent, above: str) -> dict[str, bytes]:
    """Agent -> the part of an event's JSON that says where in the tree it is."""
    path = f"{above}{agent.name}@1"
    found = {agent.name: b',"nodeInfo":' + to_json({"path": path})}
    for child in agent.sub_agents:
        if _is_llm_agent(child):  # as in google-adk 2.x, whose composite agents are not nodes
            found = {**_paths(child, f"{path}/"), **found}
    return found
