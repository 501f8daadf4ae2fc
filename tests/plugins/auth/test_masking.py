"""A secret is masked in every form that can be stored, wherever it is, and none is left in clear in a store."""

from __future__ import annotations

import asyncio
import base64
import collections
import copy
import dataclasses
import enum
import itertools
import random
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_core import to_json

from newel.artifacts import FileArtifactService
from newel.auth import AuthConfig, AuthCredential
from newel.auth.auth_schemes import APIKey, APIKeyIn
from newel.auth.secrecy import Secrets
from newel.plugins import BasePlugin
from newel.sessions import DatabaseSessionService, InMemorySessionService, SqliteSessionService
from newel.tools import AuthenticatedFunctionTool, ToolContext
from newel.types import Part
from newel_kernel import Event, EventActions

KEY = "k-very-canary-0123456789abcdef"
CREDENTIAL = AuthCredential(auth_type="apiKey", api_key=KEY)
CONFIG = AuthConfig(
    auth_scheme=APIKey(in_=APIKeyIn.header, name="X-Key"), raw_auth_credential=CREDENTIAL, credential_key="weather"
)


class Model(BaseModel):
    key: Any
    blob: bytes = b""


@dataclasses.dataclass
class Data:
    key: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    key: Any


class Named(NamedTuple):
    key: Any


class Text(str):
    __slots__ = ()


#: What holds a secret by itself.
SCALARS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "subclass": Text,
    "sentence": lambda k: f"Bearer {k}, twice {k}",
    "bytes": str.encode,
    "bytearray": lambda k: bytearray(k.encode()),
    "hex": lambda k: k.encode().hex(),
    "base64 at an offset": lambda k: base64.b64encode(f"x:{k}:y".encode()).decode(),
    "base64 at another": lambda k: base64.urlsafe_b64encode(f"xy:{k}".encode()).decode(),
    "path": lambda k: Path("/tmp") / k,
    "enum": lambda k: enum.Enum("E", {"A": k})(k),
}
#: What holds a value, around one that may hold a secret.
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda v: [1, v],
    "tuple": lambda v: (v, None),
    "dict": lambda v: {"d": v},
    "deque": lambda v: collections.deque([v]),
    "defaultdict": lambda v: collections.defaultdict(list, a=[v]),
    "OrderedDict": lambda v: collections.OrderedDict(a=v),
    "model": lambda v: Model(key=v),
    "model of bytes": lambda v: Model(key=v, blob=b"x" + KEY.encode()),
    "dataclass": Data,
    "frozen dataclass": Frozen,
    "named tuple": Named,
    "generator": lambda v: (x for x in [v]),
    "record": lambda v: Part(part_metadata={"x": v}),
    "event": lambda v: Event(author="a", custom_metadata={"x": v}, state={"y": v}),
    "deep": lambda v: _nested(v, 70),
    "deeper": lambda v: _nested([v], 100),
}
#: The same for values that have a hash.
HASHED: dict[str, Callable[[Any], Any]] = {
    "set": lambda v: {v, 1},
    "frozenset": lambda v: frozenset([v]),
    "key": lambda v: {v: 1},
    "keys": lambda v: {"x": {v: {v: 2}}},
    "set of frozen": lambda v: {Frozen(v)},
    "set of tuples": lambda v: {(v, 2)},
}


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"d": value}
    return value


def made_of(names: list[str]) -> Any:
    """A value with the secret in it, from the names of its layers, the innermost first."""
    value = SCALARS[names[0]](KEY)
    for name in names[1:]:
        value = {**CONTAINERS, **HASHED}[name](value)
    return value


@st.composite
def layers(draw: st.DrawFn) -> list[str]:
    scalar = draw(st.sampled_from(sorted(SCALARS)))
    names = [scalar]
    if scalar != "bytearray" and draw(st.booleans()):
        names.append(draw(st.sampled_from(sorted(HASHED))))
    return names + draw(st.lists(st.sampled_from(sorted(set(CONTAINERS) - {"deep", "deeper"})), max_size=3))


def in_clear(data: str) -> bool:
    """Whether the secret, or something that one decodes to it, is in a text."""
    if KEY in data or KEY.encode().hex() in data.lower():
        return True
    parts = [KEY[i : i + 6].encode() for i in range(len(KEY) - 5)]
    # Any six letters of it in base 64, at any offset.
    return any(
        form in data
        for part, offset in itertools.product(parts, range(3))
        for form in [base64.b64encode(bytes(offset) + part).decode()[-(-offset * 8 // 6) : (offset + 6) * 8 // 6]]
    )


def masked(value: Any) -> Any:
    secrets = Secrets()
    secrets.add([KEY])
    return secrets.mask(value)


def storable(value: Any) -> str | None:
    try:
        return to_json(value, bytes_mode="base64", fallback=lambda other: to_json(vars(other))).decode()
    except Exception:
        return None


SHAPES = [
    [scalar, *rest]
    for scalar in SCALARS
    for rest in ([], *([one] for one in CONTAINERS), *([one] for one in HASHED if scalar != "bytearray"))
]


@pytest.mark.parametrize("names", SHAPES, ids=" in ".join)
def test_no_form_of_a_secret_is_left(names: list[str]) -> None:
    result = masked(made_of(names))
    data = storable(result)
    assert data is not None
    assert not in_clear(data)
    assert "<secret>" in data or "PHNlY3JldD" in data or "c2VjcmV0" in data or "ZWNyZXQ" in data


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names=layers())
def test_no_combination_of_forms_is_left(names: list[str]) -> None:
    data = storable(masked(made_of(names)))
    assert data is not None
    assert not in_clear(data)


def test_what_holds_no_secret_is_the_same_object_and_what_holds_one_is_not_changed() -> None:
    secrets = Secrets()
    secrets.add(["another-secret"])
    for names in SHAPES:
        if "generator" not in names and "bytes" not in names[-1]:
            value = made_of(names)
            assert secrets.mask(value) is value, names
    values = [{"a": [KEY, {"b": KEY}]}, [Data(KEY)], {"m": Model(key=KEY)}, [{KEY}]]
    for value in values:
        before = copy.deepcopy(value)
        assert masked(value) is not value
        assert value == before


def test_two_keys_with_a_secret_are_two_keys_and_a_list_that_holds_itself_ends() -> None:
    assert len(masked({KEY: 1, KEY.encode().hex(): 2, "<secret>": 3})) == 3
    loop: list[Any] = [KEY]
    loop += [loop, loop]
    assert masked(loop)[0] == "<secret>"
    wide: Any = KEY
    for _ in range(60):
        wide = [wide, wide]
    assert masked(wide) is not wide


@pytest.mark.parametrize("secret", ["123456789012", "987654321.25"])
def test_a_secret_of_digits_is_masked_as_a_number(secret: str) -> None:
    secrets = Secrets()
    secrets.add([secret])
    number = float(secret) if "." in secret else int(secret)
    assert secret not in repr(
        secrets.mask({"pin": number, "set": {number}, "deep": _nested(number, 80), "m": Data(number)})
    )


def _state(value: Any, context: ToolContext) -> None:
    context.state["x"] = value


ACTIONS: dict[str, Callable[[Any, ToolContext], object]] = {
    "state": _state,
    "user state": lambda v, c: c.state.update({"user:x": v}),
    "state key": lambda v, c: c.state.update({f"app:{KEY}": 1, KEY: 2}),
    "agent state": lambda v, c: setattr(c.actions, "agent_state", {"x": v}),
    "artifact delta": lambda v, c: c.actions.artifact_delta.update({KEY: 1}),
    "route": lambda v, c: setattr(c.actions, "route", KEY),
    "confirmation": lambda v, c: c.request_confirmation(hint=KEY, payload={"a": [KEY]}),
    "widgets": lambda v, c: setattr(c.actions, "render_ui_widgets", [{"a": KEY}]),
}


class Later(BasePlugin):
    """Writes what the tool had into the state, after the tool."""

    def __init__(self) -> None:
        super().__init__(name="later")
        self.kept: Any = None

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        if self.kept is not None:
            callback_context.state["late"] = self.kept


STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: InMemorySessionService(),
    "sqlite": lambda folder: SqliteSessionService(f"sqlite:///{folder}/s.db"),
    "database": lambda folder: DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/d.db"),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    (tmp_path / "stores").mkdir()
    return STORES[request.param](tmp_path / "stores")


def _forms(seed: int) -> Iterator[tuple[str, Any]]:
    """Every action, and values of random layers."""
    draw = random.Random(seed)
    for name in ACTIONS:
        yield name, KEY
    for _ in range(10):
        layers = [draw.choice(sorted(SCALARS))]
        if layers[0] != "bytearray" and draw.random() < 0.5:
            layers.append(draw.choice(sorted(HASHED)))
        layers += draw.choices(sorted(set(CONTAINERS) - {"generator", "event"}), k=draw.randrange(2))
        yield draw.choice(["state", "user state", "agent state"]), made_of(layers)


def test_no_store_keeps_a_secret_that_a_tool_had(store: Any, converse: Any, tmp_path: Path, caplog: Any) -> None:
    forms = list(_forms(7))
    later = Later()

    async def act(credential: AuthCredential, tool_context: ToolContext) -> Any:
        """Act."""
        name, value = forms[0]
        later.kept = [value] if name == "state" else None
        ACTIONS[name](value, tool_context)
        await tool_context.save_artifact(f"{KEY}.txt", Part(text="it is there"), custom_metadata={"from": KEY})
        assert await tool_context.load_artifact(f"{KEY}.txt") is not None
        return {"ok": [value, {KEY}]} if name == "state" else {"ok": 1}

    tool = AuthenticatedFunctionTool(func=act, auth_config=CONFIG)
    artifacts = FileArtifactService(str(tmp_path / "stores" / "artifacts"))
    talk = converse("standard", [tool], store, artifact_service=artifacts, plugins=[later])
    seen: list[str] = []

    async def turns() -> None:
        while forms:
            later.kept = None
            events = await talk.send("go")
            seen.extend(repr(event) for event in events)
            stored = await store.get_session(app_name="app", user_id="ann", session_id="s")
            seen.append(repr(stored))
            await store.delete_session(app_name="app", user_id="ann", session_id="s")
            forms.pop(0)
        if hasattr(store, "close"):
            await store.close()

    asyncio.run(turns())
    assert any("<secret>" in text for text in seen)
    found = [text[max(text.find(KEY) - 300, 0) :][:500] for text in [*seen, caplog.text] if in_clear(text)]
    assert not found
    for path in (tmp_path / "stores").rglob("*"):
        assert not in_clear(path.name)
        assert not path.is_file() or not in_clear(path.read_bytes().decode("latin-1")), path


def test_actions_without_a_secret_stay_the_same_objects() -> None:
    secrets = Secrets()
    secrets.add([KEY])
    delta = {"x": {1, 2}, "m": Model(key=1), "temp:x": types.SimpleNamespace(a=KEY)}
    event = Event(author="a", actions=EventActions(state_delta=dict(delta)))
    state = dict(delta)
    secrets.mask_event(event, state)
    assert all(event.actions.state_delta[name] is value is state[name] for name, value in delta.items())
