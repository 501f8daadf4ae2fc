"""Every kind that has an order: a stage's place by list, anchor, phase or name, however its package is found."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.live.kinds import LiveIn
from newel_compose import Distribution, HookPolicy, Owned, compose
from newel_compose._internal.arrangement import arrange
from newel_compose._internal.ordering import order_chain
from newel_kernel import (
    KERNEL_KINDS,
    CompositionError,
    Descriptor,
    Epilogue,
    HookSignatureError,
    Kind,
    Observer,
    Prologue,
    Stage,
    ToolPreparation,
    hookimpl,
    hookspec,
)

LISTED = ("one", "two", "three")


@hookspec
def register_steps(settings: Any) -> Sequence[Stage]:
    """Steps."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Stage):
    """A stage that may come in a later phase."""

    late: bool = False

    @property
    def phase(self) -> int:
        """Late ones are in the second."""
        return int(self.late)


STEPS = Kind(Step, register_steps, order="steps", open_ended=True)


def owned(name: str, **fields: Any) -> Owned:
    return Owned(Step(name=name, **fields), plugin=f"plugin_{name}", source=f"newel-{name} 1.0")


def names(stages: Sequence[Owned], listed: Sequence[str] = LISTED, kind: Kind[Any] = STEPS) -> list[str]:
    return [one.stage.name for one in arrange(kind, listed, stages, {})]


def fault(stages: Sequence[Owned], listed: Sequence[str] = LISTED, kind: Kind[Any] = STEPS) -> str:
    with pytest.raises(CompositionError) as caught:
        arrange(kind, listed, stages, {})
    return str(caught.value)


def test_what_has_neither_place_nor_anchor_is_at_the_end_by_name() -> None:
    stages = [owned("b"), owned("two"), owned("a"), owned("three"), owned("one"), owned("x", after=("one",))]
    assert names(stages) == ["one", "x", "two", "three", "a", "b"]
    assert "'a' (newel-a 1.0) has no place" in fault(stages, kind=Kind(Step, register_steps, order="steps"))


def test_an_entry_with_a_question_mark_counts_only_if_there_is_such_a_stage() -> None:
    stages = [owned("one"), owned("three")]
    assert names(stages, ["three", "two?", "one?"]) == ["three", "one"]
    assert "lists 'two', which no enabled plugin provides" in fault(stages, ["three", "two", "one"])


def test_a_later_phase_comes_later_whatever_is_listed() -> None:
    stages = [owned("one", late=True), owned("two"), owned("three", late=True), owned("x", before=("one",))]
    assert names(stages) == ["x", "two", "one", "three"]


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (
            owned("x", after=("one",)),
            "'x' (newel-x 1.0) is anchored after 'one', but all stages of its phase run before",
        ),
        (owned("x", late=True, before=("two",)), "is anchored before 'two', but all stages of its phase run after"),
    ],
)
def test_an_anchor_that_contradicts_the_phase_is_an_error(stage: Owned, words: str) -> None:
    stages = [owned("one", late=True), owned("two"), owned("three"), stage]
    assert words in fault(stages)


@given(st.data())
@settings(max_examples=60)
def test_the_order_is_the_same_however_the_packages_are_found(data: st.DataObject) -> None:
    """Of any stages with any anchors in either phase: one order, or one error."""
    extra = [f"s{number}" for number in range(data.draw(st.integers(1, 7)))]
    anchor = st.lists(st.sampled_from([*LISTED, *extra, "s0?", "nobody?"]), max_size=2).map(tuple)
    stages = [owned(name) for name in LISTED]
    stages += [
        owned(name, after=data.draw(anchor), before=data.draw(anchor), late=data.draw(st.booleans())) for name in extra
    ]
    kind = Kind(Step, register_steps, order="steps", open_ended=data.draw(st.booleans()))
    outcomes = set()
    for _ in range(5):
        random.Random(data.draw(st.integers())).shuffle(stages)
        try:
            outcomes.add(tuple(names(stages, kind=kind)))
        except CompositionError as error:
            outcomes.add(tuple(sorted(error.problems)))
    assert len(outcomes) == 1


@given(st.data())
def test_without_anchors_the_short_way_gives_what_ordering_gives(data: st.DataObject) -> None:
    pool = st.sampled_from(["a", "b", "c", "d", "e"])
    stages = [owned(name) for name in data.draw(st.lists(pool, max_size=5))]
    listed = data.draw(st.lists(pool, max_size=4))
    kind = Kind(Step, register_steps, order="steps", open_ended=data.draw(st.booleans()))
    anchored = sorted((one._replace(anchored=kind.open_ended) for one in stages), key=lambda one: str(one.item.name))
    outcomes: list[Any] = []
    for order in (lambda: arrange(kind, listed, stages, {}), lambda: order_chain("steps", listed, anchored, {})):
        try:
            outcomes.append(order())
        except CompositionError as error:
            outcomes.append(error.problems)
    assert outcomes[0] == outcomes[1]


def nothing(*_: Any) -> None:
    """Does nothing."""


#: Order -> the hook and how to make a stage; those that plugins of a distribution list nothing of are marked None.
KINDS: Mapping[str, tuple[str, Any, str]] = {
    "tool_preparations": ("register_tool_preparations", lambda **f: ToolPreparation(run=nothing, **f), "toolset_auth"),
    "prologues": ("register_prologues", lambda **f: Prologue(run=nothing, **f), "pairing"),
    "epilogues": ("register_epilogues", lambda **f: Epilogue(run=nothing, **f), "compaction"),
    "observers": ("register_observers", lambda **f: Observer(notify=nothing, **f), "telemetry"),
    "hook_policies": ("register_hook_policies", lambda **f: HookPolicy(wrap=lambda b: b, **f), "hook_timeout"),
    "live_in": ("register_live_in", lambda **f: LiveIn(make=nothing, **f), "screening"),
}


def plugin(order: str, *stages: Mapping[str, Any], name: str = "mine") -> Any:
    hook, make, _ = KINDS[order]
    made = type("Plugin", (), {hook: hookimpl(lambda self: [make(**one) for one in stages])})()
    made.name = name
    return made


def placed(composed: Any, order: str) -> list[str]:
    return [one.stage.name for one in composed.placed[order]]


@pytest.mark.parametrize("order", KINDS)
def test_an_anchor_places_a_stage_of_every_kind(order: str) -> None:
    anchor = KINDS[order][2]
    stages = [{"name": "zz", "before": (anchor,)}, {"name": "aa", "after": (anchor,)}]
    composed = compose("standard", plugins=[plugin(order, *stages)])
    order_of = placed(composed, order)
    at = order_of.index(anchor)
    assert order_of[at - 1 : at + 2] == ["zz", anchor, "aa"]


@pytest.mark.parametrize("order", KINDS)
def test_every_misplaced_stage_is_the_same_error(order: str) -> None:
    anchor = KINDS[order][2]
    who = f"{order}: 'odd' (given directly, {__name__}) is anchored to"
    with pytest.raises(CompositionError) as caught:
        compose("standard", plugins=[plugin(order, {"name": "odd", "after": (f"{anchor}x",)})])
    assert f"{who} '{anchor}x', which does not exist; did you mean '{anchor}'?" in str(caught.value)
    with pytest.raises(CompositionError) as caught:
        compose("standard", plugins=[plugin(order, {"name": "odd", "after": (anchor,), "before": (anchor,)})])
    assert f"{order}: contradictory order" in str(caught.value)
    assert "placed by 'odd' (given directly" in str(caught.value)


def test_the_order_of_given_plugins_decides_nothing() -> None:
    plugins = [
        plugin("epilogues", {"name": "c"}, {"name": "a", "after": ("c",)}, name="first"),
        plugin("epilogues", {"name": "b"}, name="second"),
    ]
    for several in (plugins, plugins[::-1]):
        assert placed(compose("standard", plugins=several), "epilogues")[-3:] == ["b", "c", "a"]


def test_the_kernels_steps_run_in_their_order() -> None:
    composed = compose("standard", plugins=[plugin("prologues", {"name": "x", "before": ("auth",)})])
    assert [one.name for one in composed.prologues] == ["x", "auth", "pairing"]
    assert [one.name for one in composed.late_prologues] == ["input_blobs"]
    assert [one.name for one in composed.epilogues] == placed(composed, "epilogues")


def test_every_kind_of_stages_has_an_order_of_its_own_and_no_other_kind_has_one() -> None:
    orders = [kind.order for kind in KERNEL_KINDS if kind.order]
    assert len(orders) == len(set(orders))
    assert {kind.descriptor for kind in KERNEL_KINDS if kind.order} == {
        kind.descriptor for kind in KERNEL_KINDS if issubclass(kind.descriptor, Stage)
    }


def test_a_distribution_lists_an_order_at_the_place_of_its_key() -> None:
    with pytest.raises(CompositionError, match="`orders` names 'tool_chain', which is a key of its own; write"):
        compose(Distribution(name="mine", orders={"tool_chain": ()}))
    with pytest.raises(CompositionError, match=r"`orders` names 'epilouges', .*did you mean 'epilogues'"):
        compose(Distribution(name="mine", orders={"epilouges": ()}))


def test_arranging_is_ordering_where_nothing_is_open_ended_or_late() -> None:
    stages = [owned("two"), owned("one"), owned("x", before=("two",))]
    kind = Kind(Step, register_steps, order="steps")
    assert arrange(kind, ("one", "two"), stages, {}) == order_chain("steps", ("one", "two"), stages, {})


def test_a_descriptor_has_no_anchors() -> None:
    with pytest.raises(TypeError):
        Descriptor(name="x", after=("y",))  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting(Descriptor):
    """A kind without an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored(Greeting):
    """One of a stranger's that has anchors nevertheless."""

    after: tuple[str, ...] = ()


@hookspec
def register_greetings(settings: Any) -> Sequence[Greeting]:
    """Greetings."""
    return ()


class Hall:
    """Declares kinds, and provides greetings."""

    name = "hall"

    def __init__(self, *kinds: Kind[Any], greetings: Sequence[Greeting] = ()) -> None:
        self.kinds = kinds
        self.greetings = greetings

    @hookimpl
    def register_kinds(self) -> list[Kind[Any]]:
        return list(self.kinds)

    @hookimpl
    def register_greetings(self) -> list[Greeting]:
        return list(self.greetings)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind(Step, register_greetings), "declares the kind Step, whose descriptors have anchors, without an order"),
        (
            Kind(Greeting, register_greetings, order="greetings"),
            "'greetings' of the kind Greeting, which has no anchors",
        ),
        (
            Kind(Step, register_greetings, order="epilogues"),
            "declares the order 'epilogues', which the kind Epilogue has",
        ),
    ],
)
def test_a_kind_has_anchors_if_it_has_an_order_of_its_own(kind: Kind[Any], words: str) -> None:
    with pytest.raises(CompositionError, match="the plugin 'hall' declares") as caught:
        compose("minimal", plugins=[Hall(kind)])
    assert words in str(caught.value)


def test_anchors_on_a_kind_without_an_order_are_an_error() -> None:
    kind = Kind(Greeting, register_greetings)
    assert compose("minimal", plugins=[Hall(kind, greetings=[Anchored(name="hi")])]).registry.find(Greeting, "hi")
    with pytest.raises(HookSignatureError, match="returned a Greeting with anchors, which that kind does not take"):
        compose("minimal", plugins=[Hall(kind, greetings=[Anchored(name="hi", after=("x",))])])


def test_a_kind_of_a_plugin_is_ordered_as_the_kernels_are() -> None:
    hall_with = type("HallWith", (Hall,), {"register_steps": hookimpl(lambda self: [Step(name=n) for n in "ba"])})
    mine = hall_with(STEPS)
    assert placed(compose("minimal", plugins=[mine]), "steps") == ["a", "b"]
    listed = Distribution(name="mine", orders={"steps": ("b", "a", "c?")})
    assert [one.name for one in compose(listed, plugins=[mine]).registry.all(Step)] == ["b", "a"]
