"""Pickled actions, read as plain values. Nothing that a pickle names is imported or run."""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final

#: No event has more values than this, or a deeper one; a few bytes of a pickle can ask for that many.
_MOST_VALUES = 1_000_000
_DEEPEST = 150

#: The classes that google-adk's actions consist of. Any other name ends the reading.
_MODELS: Final = {
    "google.adk.events.event_actions": "EventActions EventCompaction",
    "google.adk.events.ui_widget": "UiWidget",
    "google.adk.tools.tool_confirmation": "ToolConfirmation",
    "google.adk.auth.auth_tool": "AuthConfig",
    "google.adk.auth.auth_credential": "AuthCredential HttpAuth HttpCredentials OAuth2Auth ServiceAccount "
    "ServiceAccountCredential",
    "google.adk.auth.auth_schemes": "CustomAuthScheme ExtendedOAuth2 OpenIdConnectWithConfig",
    "fastapi.openapi.models": "APIKey HTTPBase HTTPBearer OAuth2 OAuthFlow OAuthFlowAuthorizationCode "
    "OAuthFlowClientCredentials OAuthFlowImplicit OAuthFlowPassword OAuthFlows OpenIdConnect SecurityBase",
    "google.genai.types": "Blob CodeExecutionResult Content ExecutableCode FileData FunctionCall FunctionResponse "
    "FunctionResponseBlob FunctionResponseFileData FunctionResponsePart Part PartMediaResolution PartialArg "
    "SpeechMetadata ToolCall ToolResponse Transcription VideoMetadata WordInfo",
}
_ENUMS: Final = {
    "fastapi.openapi.models": "APIKeyIn SecuritySchemeType",
    "google.adk.auth.auth_credential": "AuthCredentialTypes",
    "google.adk.auth.auth_schemes": "OAuthGrantType",
    "google.genai.types": "FunctionResponseScheduling Language MediaProcessing Outcome PartMediaResolutionLevel "
    "ToolType",
}
_DICTS: Final = {"collections": "OrderedDict defaultdict"}
_FACTORIES: Final = {"builtins": "dict list set int float str bool"}
_DATES: Final = {"datetime": "date datetime"}
_KINDS: Final = {
    f"{module}.{name}": kind
    for kind, names_of in (
        ("model", _MODELS),
        ("enum", _ENUMS),
        ("dict", _DICTS),
        ("factory", _FACTORIES),
        ("date", _DATES),
    )
    for module, names in names_of.items()
    for name in names.split()
}


class PickleError(ValueError):
    """The bytes are not a pickle, are damaged, or hold something that is not read."""


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    kind: str


@dataclass(slots=True)
class _Object:
    """The object that calling a name would have made."""

    name: _Name
    args: tuple[Any, ...]
    state: Any = None
    items: list[tuple[Any, Any]] = field(default_factory=list)


class _Mark:
    """Where on the stack a sequence begins."""


_MARK = _Mark()
_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES: Final = frozenset(
    (
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    )
)
_EMPTY: Final[dict[str, type]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": list, "EMPTY_TUPLE": tuple}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """The stack and the memo of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for code, arg, _ in pickletools.genops(data):
            name = code.name
            if name in _VALUES:
                self.stack.append(arg)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in _EMPTY:
                self.stack.append(_EMPTY[name]())
            elif name in _TUPLES:
                self.stack.append(tuple(self._last(_TUPLES[name])))
            elif name not in ("PROTO", "FRAME", "STOP"):
                step = getattr(self, f"_{name.lower()}", None)
                if step is None:
                    raise PickleError(f"the operation {name} is not supported")
                step(arg)
        (value,) = self.stack
        return value

    def _last(self, count: int) -> list[Any]:
        values = self.stack[-count:]
        if len(values) < count:
            raise PickleError("it pops more from its stack than the stack holds")
        del self.stack[-count:]
        return values

    def _marked(self) -> list[Any]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def _mark(self, _: object) -> None:
        self.stack.append(_MARK)

    def _pop(self, _: object) -> None:
        self.stack.pop()

    def _pop_mark(self, _: object) -> None:
        self._marked()

    def _dup(self, _: object) -> None:
        self.stack.append(self.stack[-1])

    def _memoize(self, _: object) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _put(self, place: int) -> None:
        self.memo[int(place)] = self.stack[-1]

    def _get(self, place: int) -> None:
        self.stack.append(self.memo[int(place)])

    _binput = _long_binput = _put
    _binget = _long_binget = _get

    def _append(self, _: object) -> None:
        (value,) = self._last(1)
        self._extend([value])

    def _appends(self, _: object) -> None:
        self._extend(self._marked())

    _additems = _appends

    def _extend(self, values: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise PickleError("it appends to a value that is not a list")
        self.stack[-1].extend(values)

    def _list(self, _: object) -> None:
        self.stack.append(self._marked())

    _frozenset = _list

    def _tuple(self, _: object) -> None:
        self.stack.append(tuple(self._marked()))

    def _dict(self, _: object) -> None:
        values = self._marked()
        self.stack.append({})
        self._update(values)

    def _setitem(self, _: object) -> None:
        self._update(self._last(2))

    def _setitems(self, _: object) -> None:
        self._update(self._marked())

    def _update(self, values: list[Any]) -> None:
        target = self.stack[-1]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        if isinstance(target, _Object) and target.name.kind == "dict":
            target.items.extend(pairs)
        elif type(target) is dict:
            if not all(isinstance(key, (str, int, float, type(None))) for key, _ in pairs):
                raise PickleError("a dict has a key that JSON cannot represent")
            target.update(pairs)
        else:
            raise PickleError("it sets items of a value that is not a dict")

    def _global(self, names: str) -> None:
        self._name(*names.split(" ", 1))

    def _stack_global(self, _: object) -> None:
        self._name(*self._last(2))

    def _name(self, module: object, name: object) -> None:
        text = f"{module}.{name}"
        kind = _KINDS.get(text)
        if kind is None:
            raise PickleError(f"it names {text[:100]!r}, which google-adk's actions do not use: it was not looked up")
        self.stack.append(_Name(text, kind))

    def _reduce(self, _: object) -> None:
        name, args = self._last(2)
        if not isinstance(name, _Name) or not isinstance(args, tuple):
            raise PickleError("it calls a value that is not a name")
        self.stack.append(_Object(name, args))

    _newobj = _reduce

    def _newobj_ex(self, _: object) -> None:
        name, args, _keywords = self._last(3)
        self.stack += [name, args]
        self._reduce(None)

    def _build(self, _: object) -> None:
        (state,) = self._last(1)
        if not isinstance(self.stack[-1], _Object):
            raise PickleError("it sets the state of a value that is not an object")
        self.stack[-1].state = state


@lru_cache(maxsize=256)  # most events have the same empty actions
def read_actions(data: bytes) -> dict[str, Any]:
    """The fields of pickled actions; raises PickleError. The result is shared: it must not be changed."""
    try:
        value = _plain(_Machine().run(data), 0, _counted())
    except PickleError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError, MemoryError) as error:
        raise PickleError(f"it is damaged ({type(error).__name__}: {error})") from error
    if not isinstance(value, dict):
        raise PickleError(f"it holds {type(value).__name__}, not actions")
    return value


def _counted() -> Iterator[int]:
    return iter(range(_MOST_VALUES))


def _plain(value: Any, depth: int, budget: Iterator[int]) -> Any:
    if depth > _DEEPEST:
        raise PickleError("it is nested too deeply, or contains itself")
    if next(budget, None) is None:
        raise PickleError(f"it holds more than {_MOST_VALUES:,} values")
    if isinstance(value, _Object):
        return _plain(_content(value), depth + 1, budget)
    if isinstance(value, (list, tuple)):
        return [_plain(one, depth + 1, budget) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one, depth + 1, budget) for key, one in value.items()}
    if isinstance(value, (_Name, _Mark)):
        raise PickleError("it holds a class where a value should be")
    return value


def _content(obj: _Object) -> Any:
    """The plain value of an object."""
    kind = obj.name.kind
    if kind == "model":
        fields = obj.state["__dict__"]
        return {name: value for name, value in fields.items() if value is not None}
    if kind == "dict":
        return dict(obj.items)
    if kind == "enum":
        return obj.args[0]
    if kind == "date":
        classes: dict[str, type[date]] = {"datetime.date": date, "datetime.datetime": datetime}
        if not all(isinstance(one, (bytes, int)) for one in obj.args):
            raise PickleError("it holds a time of an unknown zone")
        return classes[obj.name.text](*obj.args).isoformat()
    raise PickleError(f"it holds {obj.name.text} where a value should be")
