"""Graphs: how edges are read, what is refused, which way a route leads."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from newel.workflow import DEFAULT_ROUTE, START, Edge, FunctionNode, Graph, JoinNode, Workflow


class Number(BaseModel):
    n: int


class Word(BaseModel):
    w: str


def a(node_input: Any) -> int:
    return 1


def b(node_input: Any) -> int:
    return 2


def c(node_input: Any) -> int:
    return 3


def number() -> Number:
    return Number(n=1)


def word(node_input: Word) -> str:
    return node_input.w


def edges_of(*items: Any) -> list[tuple[str, str, Any]]:
    return [(e.from_node.name, e.to_node.name, e.route) for e in Graph.from_edge_items(items).edges]


def test_a_chain_leads_from_each_entry_to_the_next() -> None:
    assert edges_of((START, a, (b, c), JoinNode(name="j"))) == [
        ("__START__", "a", None),
        ("a", "b", None),
        ("a", "c", None),
        ("b", "j", None),
        ("c", "j", None),
    ]


def test_a_routing_map_leads_to_its_targets_and_they_to_what_follows() -> None:
    assert edges_of(("START", a, {"x": b, DEFAULT_ROUTE: c}, JoinNode(name="j"))) == [
        ("__START__", "a", None),
        ("a", "b", "x"),
        ("a", "c", DEFAULT_ROUTE),
        ("b", "j", None),
        ("c", "j", None),
    ]


def test_the_same_function_is_the_same_node_a_bound_method_too() -> None:
    class Steps:
        def step(self, node_input: Any) -> None:
            return None

    steps = Steps()
    graph = Graph.from_edge_items([("START", steps.step, a), Edge(from_node=a, to_node=steps.step, route="again")])
    assert [node.name for node in graph.nodes] == ["__START__", "step", "a"]


@pytest.mark.parametrize(
    ("routes", "names"),
    [
        ("x", ["b", "u"]),
        (["x", "y"], ["b", "c", "u"]),
        ("z", ["u", "d"]),
        (None, ["u", "d"]),
        ([], ["u", "d"]),
    ],
)
def test_what_follows_a_node(routes: Any, names: list[str]) -> None:
    def u() -> None: ...
    def d() -> None: ...

    graph = Graph.from_edge_items([("START", a, {"x": b, ("y"): c}), (a, u), (a, {DEFAULT_ROUTE: d})])
    assert graph.get_next_pending_nodes("a", routes) == names


def test_an_edge_with_a_list_of_routes_is_followed_on_each_of_them() -> None:
    fa, fb = FunctionNode(a), FunctionNode(b)
    graph = Graph(edges=[Edge(from_node=START, to_node=fa), Edge(from_node=fa, to_node=fb, route=["x", "y"])])
    assert [graph.get_next_pending_nodes("a", r) for r in ("x", "y", "z")] == [["b"], ["b"], []]


fa, fb, fc = FunctionNode(a), FunctionNode(b), FunctionNode(c)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("START", FunctionNode(a, name="twin"), FunctionNode(b, name="twin"))], "'twin'"),
        ([(fa, fb)], "START"),
        ([("START", fa), (fb, fc)], r"\['b', 'c'\]"),
        ([("START", fa), (fa, "START")], "'a' -> '__START__' leads to START"),
        ([("START", fa, fb), Edge(from_node=fa, to_node=fb, route="x")], "2 edges lead from 'a' to 'b'"),
        (
            [
                ("START", fa),
                Edge(from_node=fa, to_node=fb, route=DEFAULT_ROUTE),
                Edge(from_node=fa, to_node=fc, route=DEFAULT_ROUTE),
            ],
            "'a' has 2 edges with DEFAULT_ROUTE, to 'b' and 'c'",
        ),
        ([("START", fa, fb, fc, fa)], "a -> b -> c -> a"),
        ([("START", number, word)], "'number' -> 'word' does not fit: 'number' gives Number, 'word' takes Word"),
        ([42], r"edges\[0\] is 42"),
        ([("START", fa, {})], "routing map"),
        ([("START", fa, {"x": fb}, {"y": fc})], "two routing maps"),
        ([("START", 42)], "42 .int. cannot be a node"),
        ([("START", fa, {1.5: fb})], "1.5"),
        ([("START", lambda: 1)], "<lambda>"),
    ],
)
def test_what_cannot_run_is_refused_by_name(edges: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Workflow(name="wf", edges=edges)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"from 'a' to 'b'.*a -> a"):
        Workflow(name="wf", edges=[("START", fa, fb), (fa, fb), (fa, fa)])


def test_a_default_route_is_not_one_of_a_list() -> None:
    with pytest.raises(ValueError, match="DEFAULT_ROUTE cannot be combined"):
        Edge(from_node=fa, to_node=fb, route=["x", DEFAULT_ROUTE])


def test_a_cycle_with_a_route_is_allowed() -> None:
    assert Workflow(name="wf", edges=[("START", fa, fb), (fb, {"again": fa})]).graph is not None


def test_a_long_chain_is_checked_without_recursion() -> None:
    def step(node_input: Any) -> None: ...

    steps = [FunctionNode(step, name=f"s{i}") for i in range(5000)]
    assert len(Graph.from_edge_items([("START", *steps)]).edges) == 5000
