"""The order of a chain: the spine verbatim, further stages beside their anchors, every fault in one error."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel_compose import Owned
from newel_compose._internal.ordering import order_chain
from newel_kernel import CompositionError, Stage

SPINE = ("basic", "auth", "instructions", "identity", "contents", "planning", "transfer")


def owned(name: str, source: str = "newel-extra 1.0", **anchors: Any) -> Owned:
    return Owned(Stage(name=name, **anchors), plugin=f"plugin_{name}", source=source)


def core() -> list[Owned]:
    return [owned(name, "newel 0.1") for name in SPINE]


def names(stages: Sequence[Owned], spine: Sequence[str] = SPINE, disabled: dict[str, str] | None = None) -> list[str]:
    return [placed.stage.name for placed in order_chain("request_chain", spine, stages, disabled or {})]


def problems(
    stages: Sequence[Owned], spine: Sequence[str] = SPINE, disabled: dict[str, str] | None = None
) -> tuple[str, ...]:
    with pytest.raises(CompositionError) as caught:
        order_chain("request_chain", spine, stages, disabled or {})
    for problem in caught.value.problems:
        assert problem in str(caught.value)
    return caught.value.problems


def test_the_spine_comes_back_verbatim() -> None:
    assert names(core()) == list(SPINE)
    assert names(list(reversed(core()))) == list(SPINE)
    assert names(core(), spine=SPINE[::-1]) == list(SPINE[::-1])


def test_an_empty_chain_is_empty() -> None:
    assert names([], spine=()) == []


@pytest.mark.parametrize(
    ("anchors", "expected"),
    [
        ({"after": ("basic",)}, ["basic", "x", "auth"]),
        ({"before": ("basic",)}, ["x", "basic", "auth"]),
        ({"before": ("identity",)}, ["instructions", "x", "identity"]),
        ({"after": ("transfer",)}, ["planning", "transfer", "x"]),
        ({"after": ("basic", "contents")}, ["contents", "x", "planning"]),  # right after the last it follows
        ({"before": ("planning", "identity")}, ["instructions", "x", "identity"]),  # right before the first it precedes
        ({"after": ("auth",), "before": ("transfer",)}, ["auth", "x", "instructions"]),
    ],
)
def test_a_stage_stands_beside_its_anchor(anchors: dict[str, Any], expected: list[str]) -> None:
    order = names([*core(), owned("x", **anchors)])
    assert [name for name in order if name != "x"] == list(SPINE)
    at = order.index(expected[0])
    assert order[at : at + len(expected)] == expected


def test_a_stage_may_be_anchored_to_one_that_is_anchored_itself() -> None:
    stages = [
        owned("late", after=("contents",)),
        owned("later", after=("late",)),
        owned("a_before_late", before=("late",)),
        owned("early", before=("identity",)),
        owned("z_after_early", after=("early",)),
        owned("earliest", before=("early",)),
    ]
    assert names([*core(), *stages]) == [
        "basic",
        "auth",
        "instructions",
        "earliest",
        "early",
        "z_after_early",
        "identity",
        "contents",
        "a_before_late",
        "late",
        "later",
        "planning",
        "transfer",
    ]


def test_what_a_distribution_lists_needs_no_anchor_and_keeps_its_place() -> None:
    listed = owned("x", after=("basic",), before=("transfer",))
    assert names([*core(), listed], spine=(*SPINE[:-1], "x", "transfer"))[-2] == "x"


def test_ties_go_by_name() -> None:
    extra = [owned(name, after=("identity",)) for name in ("zebra", "ant", "mole")]
    extra += [owned(name, before=("contents",)) for name in ("yak", "bee")]
    order = names([*core(), *extra])
    assert order[4:9] == ["ant", "mole", "zebra", "bee", "yak"]


def many() -> list[Owned]:
    """Forty extra stages, each anchored to the spine or to an earlier one of them."""
    dice = random.Random(7)
    extra: list[Owned] = []
    known = list(SPINE)
    for number in range(40):
        side = dice.choice(("after", "before"))
        extra.append(owned(f"x{number:02}", **{side: (dice.choice(known),)}))
        known.append(f"x{number:02}")
    return [*core(), *extra]


def test_200_shuffles_of_discovery_give_one_order() -> None:
    stages = many()
    dice = random.Random(1)
    orders = set()
    for _ in range(200):
        dice.shuffle(stages)
        orders.add(tuple(names(stages)))
    assert len(orders) == 1


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_constraint_holds_and_the_spine_is_kept(data: st.DataObject) -> None:
    spine = [f"s{n}" for n in range(data.draw(st.integers(1, 6)))]
    stages = [owned(name) for name in spine]
    known = list(spine)
    for number in range(data.draw(st.integers(0, 12))):
        anchors: dict[str, tuple[str, ...]] = {}
        after = data.draw(st.integers(0, len(spine)))  # after some of the first, before some of the rest: no cycle
        if after:
            anchors["after"] = tuple(data.draw(st.sets(st.sampled_from(spine[:after]), min_size=1)))
        if after < len(spine):
            anchors["before"] = tuple(data.draw(st.sets(st.sampled_from(spine[after:]), min_size=not after)))
        if number and data.draw(st.booleans()):
            anchors = {"after": (data.draw(st.sampled_from(known)),)}
        stages.append(owned(f"x{number}", **anchors))
        known.append(f"x{number}")
    order = names(stages, spine=spine)
    assert names(data.draw(st.permutations(stages)), spine=spine) == order
    assert [name for name in order if name in spine] == spine
    assert sorted(order) == sorted(known)
    for stage in stages:
        assert all(order.index(name) < order.index(stage.item.name) for name in stage.item.after)
        assert all(order.index(name) > order.index(stage.item.name) for name in stage.item.before)


def test_a_stage_says_why_it_is_where_it_is() -> None:
    extra = owned("x", after=("basic",), before=("contents", "planning"))
    placed = {p.stage.name: p for p in order_chain("request_chain", SPINE, [*core(), extra], {})}
    assert placed["auth"].why == "distribution"
    assert placed["x"].why == "after basic, before contents, before planning"
    assert (placed["x"].plugin, placed["x"].source) == ("plugin_x", "newel-extra 1.0")


def test_an_unknown_anchor_names_the_stage_its_distribution_and_the_likely_name() -> None:
    assert problems([*core(), owned("rag", "newel-rag 0.1", after=("content",))]) == (
        "request_chain: 'rag' (newel-rag 0.1) is anchored to 'content', which does not exist; did you mean 'contents'?",
    )


def test_a_stage_provided_twice_names_both_distributions() -> None:
    assert problems([*core(), owned("auth", "evil 1.0")]) == (
        "request_chain: 'auth' is provided 2 times, by evil 1.0, newel 0.1",
    )


def test_a_stage_without_any_anchor_is_refused() -> None:
    (problem,) = problems([*core(), owned("rag", "newel-rag 0.1")])
    assert problem.startswith("request_chain: 'rag' (newel-rag 0.1) has no place")
    assert "after= or before=" in problem


def test_a_spine_name_that_nobody_provides_has_a_hint() -> None:
    assert problems(core(), spine=("basics", *SPINE[1:]))[0] == (
        "request_chain: the distribution lists 'basics', which no enabled plugin provides; did you mean 'basic'?"
    )


def test_a_spine_that_lists_a_stage_twice_is_refused() -> None:
    assert problems(core(), spine=(*SPINE, "auth")) == ("request_chain: the distribution lists 'auth' twice",)


def test_an_anchor_to_a_disabled_stage_says_who_disabled_it() -> None:
    reason = {"auth": "the distribution 'house' disables the plugin 'auth' (newel 0.1)"}
    stages = [one for one in core() if one.item.name != "auth"]
    assert problems([*stages, owned("rag", "newel-rag 0.1", after=("auth",))], disabled=reason) == (
        "request_chain: 'rag' (newel-rag 0.1) is anchored to 'auth', but the distribution 'house' disables the "
        "plugin 'auth' (newel 0.1)",
    )


def test_a_listed_stage_keeps_its_place_without_a_disabled_anchor() -> None:
    stages = [one for one in core() if one.item.name not in ("auth", "planning")]
    stages.append(owned("planning", after=("auth",)))
    assert names(stages, disabled={"auth": "it is disabled"}) == [name for name in SPINE if name != "auth"]


def test_a_disabled_stage_leaves_the_spine() -> None:
    stages = [one for one in core() if one.item.name != "auth"]
    assert names(stages, disabled={"auth": "it is disabled"}) == [name for name in SPINE if name != "auth"]


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ([owned("r", "rag 1", after=("transfer",), before=("auth",))], ["'r' (rag 1)"]),
        (
            [owned("a", "one 1", after=("b", "basic")), owned("b", "two 2", after=("a",))],
            ["'a' (one 1)", "'b' (two 2)"],
        ),
        ([owned("a", "one 1", after=("a", "basic"))], ["'a' (one 1)"]),
    ],
)
def test_a_contradiction_shows_the_circle_and_who_made_it(extra: list[Owned], named: list[str]) -> None:
    (problem,) = problems([*core(), *extra])
    assert problem.startswith("request_chain: contradictory order ")
    assert all(label in problem for label in named)
    circle = problem.removeprefix("request_chain: contradictory order ").partition(" (")[0].split(" -> ")
    assert circle[0] == circle[-1]
    assert len(circle) >= 2


def test_a_listed_stage_that_contradicts_the_spine_is_named() -> None:
    stages = [owned("basic", "evil 1.0", after=("contents",)), *core()[1:]]
    (problem,) = problems(stages)
    assert "contradictory order" in problem
    assert "'basic' (evil 1.0)" in problem


def test_everything_that_is_wrong_stands_in_one_error() -> None:
    found = problems(
        [
            *core()[:-1],
            owned("auth", "evil 1.0"),
            owned("rag", "rag 2", after=("content",)),
            owned("loose", "loose 3"),
            owned("shy", "shy 4", before=("gone",)),
            owned("torn", "torn 5", after=("planning",), before=("basic",)),
            owned("bent", "bent 6", after=("identity",), before=("instructions",)),
        ],
        spine=(*SPINE, "gone"),
        disabled={"gone": "the distribution 'house' disables the plugin 'gone'"},
    )
    text = "\n".join(found)
    assert "'auth' is provided 2 times, by evil 1.0, newel 0.1" in text
    assert "the distribution lists 'transfer', which no enabled plugin provides" in text
    assert "'rag' (rag 2) is anchored to 'content', which does not exist; did you mean 'contents'?" in text
    assert "'loose' (loose 3) has no place" in text
    assert "'shy' (shy 4) is anchored to 'gone', but the distribution 'house' disables" in text
    assert sum("contradictory order" in problem for problem in found) == 2
    assert "'torn' (torn 5)" in text
    assert "'bent' (bent 6)" in text
    assert len(found) == 7


@settings(max_examples=50, deadline=None)
@given(order=st.permutations(range(9)))
def test_the_error_does_not_depend_on_the_order_of_discovery(order: list[int]) -> None:
    stages = [*core(), owned("rag", after=("content",)), owned("loose")]
    assert problems([stages[i] for i in order]) == problems(stages)
