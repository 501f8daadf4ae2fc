"""The state machine of session stores: random calls, against a model of the contract in plain data."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from newel.testing.sessions.place import MakeStore, Place, refused, same, text_event
from newel_kernel import AlreadyExistsError, Session, SessionNotFoundError, StaleSessionError, seam

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_LEAF = st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | _TEXT
_VALUE = st.recursive(_LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3))
_KEY = st.builds(str.__add__, st.sampled_from(["", "", "app:", "user:"]), st.sampled_from(["a", "b", "é\x00"]))
_DELTA = st.dictionaries(_KEY, _VALUE, max_size=3)
_WHO = st.sampled_from(["ann", "bob"])
_ID = st.sampled_from(["1", "2", "3"])
_apps = count(1)


@dataclass
class Model:
    """What a session must be; `number` distinguishes it from others that had its id."""

    number: int
    events: list[tuple[str, str]] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)


class SessionMachine(RuleBasedStateMachine):
    """Plays calls of one or two services and compares what is stored with the model."""

    make: ClassVar[MakeStore]
    views = Bundle("views")

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._place = Place(type(self).make, f"machine-{seam.new_id()}-{next(_apps)}")
        self._models: dict[tuple[str, str], Model] = {}
        self._app: dict[str, Any] = {}
        self._users: dict[str, dict[str, Any]] = {"ann": {}, "bob": {}}
        self._ids = count(1)

    def teardown(self) -> None:
        """Close what was opened."""
        self._runner.run(self._place.close())
        self._runner.close()

    @initialize()
    def begin(self) -> None:
        """The services: a second one if the store can have two."""
        self._stores = [self._runner.run(self._service())]
        if self._stores[0].capabilities.shared:
            self._stores.append(self._runner.run(self._service()))

    async def _service(self) -> Any:
        return self._place.service()

    @rule(user=_WHO, name=_ID, state=_DELTA, which=st.integers(0, 1))
    def create(self, user: str, name: str, state: dict[str, Any], which: int) -> None:
        """Create a session, which may exist."""
        call = self._store(which).create_session(**self._place.at(name, user), state=deepcopy(state))
        if (user, name) in self._models:
            self._runner.run(refused(call, AlreadyExistsError))
            return
        self._runner.run(call)
        model = self._models[user, name] = Model(next(self._ids))
        self._apply(user, model, state)
        model.own |= {key: None for key, value in state.items() if value is None and ":" not in key}

    @rule(target=views, user=_WHO, name=_ID, which=st.integers(0, 1), live=st.booleans())
    def look(self, user: str, name: str, which: int, live: bool) -> Any:
        """Get a copy or a live view, to append through later."""
        store = self._store(which)
        get = store.open if live else store.get_session
        session = self._runner.run(get(**self._place.at(name, user)))
        same(session is not None, (user, name) in self._models)
        return multiple() if session is None else (which, session, self._models[user, name].number)

    @rule(view=views, delta=_DELTA, again=st.booleans())
    def append(self, view: tuple[int, Session, int], delta: dict[str, Any], again: bool) -> None:
        """Append through a view of any age; if it is stale, append a second time."""
        which, session, of = view
        model = self._models.get((session.user_id, session.id))
        store, number = self._store(which), next(self._ids)
        event = text_event(f"{number}", id=f"e{number}", state=deepcopy(delta))
        if model is None or model.number != of:  # it was deleted, whatever has its id now
            self._runner.run(refused(store.append_event(session, event), SessionNotFoundError))
            return

        async def go() -> None:
            try:
                await store.append_event(session, event)
            except StaleSessionError:
                await store.append_event(session, event)
            model.events.append((f"e{number}", f"{number}"))
            self._apply(session.user_id, model, delta)
            if again:
                await refused(store.append_event(session, text_event("twice", id=f"e{number}")), AlreadyExistsError)

        self._runner.run(go())

    @rule(user=_WHO, name=_ID, which=st.integers(0, 1))
    def append_out_of_band(self, user: str, name: str, which: int) -> None:
        """Append during a run of the session."""
        number = next(self._ids)
        event = text_event(f"{number}", author="user", id=f"e{number}")
        call = self._store(which).append_out_of_band(**self._place.at(name, user), event=event)
        if (user, name) not in self._models:
            self._runner.run(refused(call, SessionNotFoundError))
            return
        self._runner.run(call)
        self._models[user, name].events.append((f"e{number}", f"{number}"))

    @rule(user=_WHO, name=_ID, which=st.integers(0, 1))
    def delete(self, user: str, name: str, which: int) -> None:
        """Delete a session, which may not exist."""
        self._runner.run(self._store(which).delete_session(**self._place.at(name, user)))
        self._models.pop((user, name), None)

    @rule(user=_WHO, name=_ID, new=_ID, which=st.integers(0, 1))
    def fork(self, user: str, name: str, new: str, which: int) -> None:
        """Fork a whole session."""
        call = self._store(which).fork(**self._place.at(name, user), new_session_id=new)
        if (user, name) not in self._models:
            self._runner.run(refused(call, SessionNotFoundError))
        elif (user, new) in self._models:
            self._runner.run(refused(call, AlreadyExistsError))
        else:
            self._runner.run(call)
            source = self._models[user, name]
            self._models[user, new] = Model(next(self._ids), list(source.events), deepcopy(source.own))

    @rule(which=st.integers(0, 1))
    def restart(self, which: int) -> None:
        """Replace one of the services, as a new process would; views of the old service are used with the new one."""
        if self._stores[0].capabilities.shared:
            self._stores[which] = self._runner.run(self._service())

    @invariant()
    def stored(self) -> None:
        """Every service reads what the model has."""
        for store in getattr(self, "_stores", ()):
            self._runner.run(self._compare(store))

    async def _compare(self, store: Any) -> None:
        listed = (await store.list_sessions(app_name=self._place.app)).sessions
        same(sorted((one.user_id, one.id) for one in listed), sorted(self._models))
        for one in listed:
            model = self._models[one.user_id, one.id]
            state = {**model.own, **self._scope("app:", self._app), **self._scope("user:", self._users[one.user_id])}
            same(_exact(one.state), _exact(state))
            session = await store.get_session(**self._place.at(one.id, one.user_id))
            events = [(event.id, event.content.parts[0].text) for event in session.events]
            same((events, _exact(session.state), session.version), (model.events, _exact(state), len(model.events)))

    def _store(self, which: int) -> Any:
        return self._stores[min(which, len(self._stores) - 1)]

    @staticmethod
    def _scope(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
        return {f"{prefix}{key}": value for key, value in values.items()}

    def _apply(self, user: str, model: Model, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            scope, colon, name = key.partition(":")
            values = {"app": self._app, "user": self._users[user]}[scope] if colon else model.own
            name = name if colon else key
            if value is None:
                values.pop(name, None)
            else:
                values[name] = value


def _exact(value: object) -> str:
    """A value with its types, and -0.0 apart from 0.0; the order of keys does not count."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_exact(value[key])}" for key in sorted(value)) + "}"
    return "[" + ", ".join(map(_exact, value)) + "]" if isinstance(value, list) else repr(value)


def play(make: MakeStore, examples: int) -> None:
    """Run the machine against the stores that `make` makes."""
    machine = type("OfThisStore", (SessionMachine,), {"make": staticmethod(make)})
    bounds = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=bounds)
