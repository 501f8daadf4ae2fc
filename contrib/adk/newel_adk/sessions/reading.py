"""Reading: the rows of google-adk's events as newel stores events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json

from newel.events.text import one_line
from newel_adk.sessions.layout import JSON_COLUMNS, Layout
from newel_adk.sessions.pickles import read_actions
from newel_kernel import Event, EventActions, Json

_ALIASES = {name: to_camel(name) for name in Event.field_names}
_ACTIONS = {name: to_camel(name) for name in EventActions.field_names}
_KNOWN_ACTIONS = {*_ACTIONS, *_ACTIONS.values()}
_EMPTY: tuple[object, ...] = (None, {}, [])
_LONGEST_REASON = 200


class UnreadableError(ValueError):
    """A row that cannot be read; the message says why."""


class Ready(NamedTuple):
    """An event, its stored form, and the fields of its actions that newel does not know."""

    event: Event
    data: bytes
    unknown: Sequence[str] = ()


@dataclass(slots=True)
class RowReader:
    """Reads the rows of a layout. Times without a zone are taken to be in `zone`."""

    layout: Layout
    zone: tzinfo

    def read(self, row: Sequence[Any]) -> Ready:
        """The event of a row; raises UnreadableError."""
        id_, invocation_id, time, *columns = row
        try:
            fields = self._pickled(columns) if self.layout.pickled else _parsed(columns[0])
            fields = {_ALIASES.get(name, name): value for name, value in fields.items()}
            fields["id"], fields["invocationId"] = str(id_), str(invocation_id or "")
            if not isinstance(fields.get("timestamp"), (int, float)):
                fields["timestamp"] = seconds(time, self.zone)
            fields["actions"], unknown = _actions(fields.get("actions"))
            return ready(fields)._replace(unknown=unknown)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise UnreadableError(_short(f"{where}: {first['msg']}" if where else first["msg"])) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise UnreadableError(_short(error)) from error

    def _pickled(self, columns: Sequence[Any]) -> Json:
        fields: Json = dict(zip(self.layout.columns, columns, strict=True))
        for name in JSON_COLUMNS:
            if (text := fields.get(name)) is not None:
                fields[name] = _value(text, name)
        fields["long_running_tool_ids"] = fields.pop("long_running_tool_ids_json", None)
        for name in ("partial", "turn_complete", "interrupted"):
            if fields.get(name) is not None:
                fields[name] = bool(fields[name])
        actions = fields.get("actions")
        fields["actions"] = read_actions(bytes(actions)) if actions is not None else None
        return fields


def ready(fields: Json) -> Ready:
    """The event of `fields`, named as in JSON. It is read from its stored form, which is thus known to be readable."""
    if fields.get("nodeInfo") == {"path": ""}:
        del fields["nodeInfo"]
    values = {name: value for name, value in fields.items() if value is not None and value != {}}
    data = to_json(values, inf_nan_mode="constants", bytes_mode="base64")
    return Ready(Event.model_validate_json(data), data)


def seconds(value: Any, zone: tzinfo) -> float:
    """A column's time in seconds since the epoch; the column holds a number, a time, or the text of one."""
    if isinstance(value, (int, float)):
        return float(value)
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(time, datetime):
        raise UnreadableError(f"its time is {type(value).__name__}")
    return (time if time.tzinfo is not None else time.replace(tzinfo=zone)).timestamp()


def state_of(text: str | bytes | None) -> Json:
    """The state in a column; raises ValueError."""
    value = {} if text is None else _value(text, "state")
    if not isinstance(value, dict):
        raise UnreadableError("its state is not an object")
    return value


def _actions(actions: Any) -> tuple[Json | None, list[str]]:
    """The known fields of the actions, and the names of unknown ones that are not empty."""
    if actions is None:
        return None, []
    if not isinstance(actions, Mapping):
        raise UnreadableError("its actions are not an object")
    entries = {str(name): value for name, value in actions.items() if value not in _EMPTY}
    result = {_ACTIONS.get(name, name): value for name, value in entries.items() if name in _KNOWN_ACTIONS}
    return result, [name for name in entries if name not in _KNOWN_ACTIONS]


def _parsed(data: str | bytes | None) -> Json:
    value = _value(data, "event_data") if data is not None else None
    if not isinstance(value, dict):
        raise UnreadableError("event_data is not an object")
    return value


def _value(data: str | bytes, column: str) -> Any:
    try:
        return from_json(data)
    except ValueError as error:
        raise UnreadableError(f"{column} is not readable JSON: {error}") from error


def _short(error: object) -> str:
    text = one_line(error)
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
