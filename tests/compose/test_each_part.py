"""Each plugin, kind and stage of `standard` can be left out or replaced: it composes, or says who needs it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel import Agent, run
from newel.testing import ScriptedModel
from newel_compose import Composition, compose
from newel_kernel import NewelError, hookimpl
from newel_types import FunctionCall

STANDARD = compose("standard")
PLUGINS = [record.name for record in STANDARD.plugins if record.state == "enabled"]
#: Each item of each kind: its plugin, its address, its kind, itself.
ITEMS = [
    (owned.plugin, STANDARD.registry.address(kind, name), owned.item)
    for kind, descriptors in STANDARD.registry.kinds()
    for name, owned in descriptors.items()
]
KINDS = sorted({(plugin, address.partition("/")[0]) for plugin, address, _ in ITEMS})


def boiled() -> str:
    """Boil water."""
    return "hot"


def turn(distribution: Any, plugins: list[object] | None = None) -> str:
    """The answer of a turn with a tool call."""
    model = ScriptedModel([FunctionCall(name="boiled", args={}), "done"])
    return run(Agent(name="kettle", model=model, tools=[boiled]), "hi", distribution=distribution, plugins=plugins)


def composed(make: Callable[[], Composition], names: tuple[str, ...]) -> Composition | None:
    """What composes, or None if the error says who is missing."""
    try:
        return make()
    except NewelError as error:
        if not any(name in str(error) for name in names):
            raise
        return None


@pytest.mark.parametrize("name", PLUGINS)
def test_each_plugin_can_be_left_out(name: str, extending: Callable[..., Path]) -> None:
    house = extending("standard", f"disable: [{name}]")
    if composed(lambda: compose(house), (name,)) is None:
        return
    try:
        answer = turn(house)
    except NewelError as error:
        if name not in str(error):
            raise
    else:
        assert answer == "done"


@pytest.mark.parametrize(("plugin", "kind"), KINDS)
def test_each_kind_of_a_plugin_can_be_left_out(plugin: str, kind: str, extending: Callable[..., Path]) -> None:
    house = extending("standard", f"disable: [{plugin}.{kind}]")
    composition = composed(lambda: compose(house), (plugin, kind))
    if composition is not None:
        record = next(record for record in composition.plugins if record.name == plugin)
        assert any(kind in one for one in record.left_out)


def test_each_item_can_be_left_out(extending: Callable[..., Path]) -> None:
    for plugin, address, item in ITEMS:
        house = extending("standard", f"disable: ['{plugin}.{address}']")
        composition = composed(lambda house=house: compose(house), (plugin, address, item.name))  # type: ignore[misc]
        if composition is not None:
            assert all(owned.plugin != plugin for owned in _at(composition, item))


def test_each_item_can_be_replaced_in_its_place(extending: Callable[..., Path]) -> None:
    for _, address, item in ITEMS:
        kind = address.partition("/")[0]
        mine = dataclasses.replace(item) if type(item).__init__ else item

        class Mine:
            name = "mine"

        setattr(Mine, f"register_{kind}", hookimpl(lambda self, mine=mine: [mine]))
        house = extending("standard", f"replace: {{'{address}': mine}}")
        plugin = Mine()
        composition = compose(house, plugins=[plugin])
        assert [owned.plugin for owned in _at(composition, item)] == ["mine"]
        names = {order: [one.stage.name for one in placed] for order, placed in composition.placed.items()}
        assert names == {order: [one.stage.name for one in placed] for order, placed in STANDARD.placed.items()}


def _at(composition: Composition, item: Any) -> list[Any]:
    owned = composition.registry.owned(type(item))
    return [owned[item.name]] if item.name in owned else []
