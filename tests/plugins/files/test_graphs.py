"""Graphs in agent files: what nodes and edges mean, with a stand-in for the package that runs graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from newel.agents.kinds import AgentType
from newel.files import agent_schema, nodes, read_document
from newel.files import graphs as graphs_module
from newel_compose import Distribution, compose
from newel_kernel import hookimpl


@dataclass(eq=False)
class Node:
    name: str
    subject: Any = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Edge:
    from_node: Any
    to_node: Any
    route: Any = None


@dataclass
class RetryConfig:
    max_attempts: int = 5


class Base(BaseModel):
    """What nodes have in common."""

    name: str
    timeout: float | None = None


class Graph(Base):
    """Something with edges, which it keeps."""

    edges: list[Any]
    max_concurrency: int | None = None


class Plugin:
    """A plugin with the agent type Flow."""

    name = "graphs_for_tests"

    @hookimpl
    def register_agent_types(self) -> list[AgentType]:
        return [AgentType(name="Flow", load=lambda: Graph)]


PARTS = """
    def classify(node_input): ...
    def urgent(node_input): ...
    def normal(node_input): ...
    class Plain: ...
    number = 3
"""


@pytest.fixture
def graphs(folder: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    package: Any = ModuleType("newel.workflow")
    package.START, package.DEFAULT_ROUTE = Node("__START__"), "__DEFAULT__"
    package.Edge, package.BaseNode, package.RetryConfig = Edge, Node, RetryConfig
    package.JoinNode = lambda name, **options: Node(name, "join", options)
    package.node = lambda subject, name=None, **options: Node(name or subject.name, subject, options)
    for module in (nodes, graphs_module):
        monkeypatch.setattr(module, "workflow", package)
    chosen = Distribution(name="test", plugins=("agents", "builtin_tools", "tools"))
    folder.composition = compose(chosen, plugins=[Plugin()])
    folder.write("parts.py", PARTS)
    folder.write("writer.yaml", "name: writer\n")
    return folder


def graph(text: str) -> str:
    return f"agent_class: Flow\nname: flow\n{text}"


def names(value: Any) -> Any:
    """The edges with names in place of nodes."""
    if isinstance(value, Edge):
        return {"from": names(value.from_node), "to": names(value.to_node), "route": value.route}
    if isinstance(value, (list, tuple)):
        return type(value)(names(one) for one in value)
    if isinstance(value, dict):
        return {key: names(one) for key, one in value.items()}
    return value.name


NODES = """\
nodes:
  classify: parts.classify
  urgent: {function: parts.urgent, timeout: 3, retry_config: {max_attempts: 2}}
  normal: {func_code: parts.normal, parallel_worker: true}
  write: writer.yaml
  read: {config_path: reader.yaml, rerun_on_resume: true}
  search: google_search
  inline: {instruction: Answer.}
  join: {agent_class: JoinNode}
"""


def test_nodes_and_every_kind_of_edge(graphs: Any) -> None:
    graphs.write("reader.yaml", "name: reader\n")
    agent = graphs.load(
        graph(
            NODES
            + """\
edges:
  - [START, classify, {urgent: urgent, 3: normal, true: [write, read], DEFAULT: inline}]
  - [[urgent, normal], join]
  - {from: write, to: join}
  - {from: read, to: [join, search], route: [a, b]}
  - {from_node: inline, to_node: join, route: DEFAULT_ROUTE}
max_concurrency: 2
"""
        )
    )
    assert names(agent.edges) == [
        (
            "__START__",
            "classify",
            {
                "urgent": "urgent",
                3: "normal",
                True: ("writer", "reader"),
                "__DEFAULT__": "inline",
            },
        ),
        (("urgent", "normal"), "join"),
        {"from": "writer", "to": "join", "route": None},
        {"from": "reader", "to": "join", "route": ["a", "b"]},
        {"from": "reader", "to": "google_search", "route": ["a", "b"]},
        {"from": "inline", "to": "join", "route": "__DEFAULT__"},
    ]
    urgent, normal = agent.edges[1][0]
    assert (urgent.subject.__name__, urgent.options) == (
        "urgent",
        {"timeout": 3, "retry_config": RetryConfig(max_attempts=2)},
    )
    assert normal.options == {"parallel_worker": True}
    assert agent.edges[0][2]["urgent"] is urgent  # one node, however often it is named
    assert agent.edges[3].from_node.options == {"rerun_on_resume": True}
    assert agent.edges[0][2]["__DEFAULT__"].instruction == "Answer."
    assert agent.max_concurrency == 2


def test_nodes_where_they_stand(graphs: Any) -> None:
    agent = graphs.load(
        graph("""\
edges:
  - [START, parts.classify, {name: draft, instruction: Write.}, writer.yaml]
  - - writer
    - {name: gather, agent_class: JoinNode}
    - {agent_class: FunctionNode, name: last, func_code: parts.normal}
  - {from: classify, to: last, route: "yes"}
""")
    )
    assert names(agent.edges) == [
        ("__START__", "classify", "draft", "writer"),
        ("writer", "gather", "last"),
        {"from": "classify", "to": "last", "route": "yes"},
    ]
    assert agent.edges[0][3] is agent.edges[1][0]


def test_options_of_workers_and_of_graphs_within_graphs(graphs: Any) -> None:
    agent = graphs.load(
        graph("""\
nodes:
  work: {function: parts.urgent, parallel_worker: true, max_parallel_workers: 2}
  inner:
    agent_class: Flow
    timeout: 3
    max_concurrency: 4
    edges: [[START, parts.normal]]
  writer: {config_path: writer.yaml, timeout: 5}
edges: [[START, work, inner, writer]]
""")
    )
    _, work, inner, writer = agent.edges[0]
    assert work.options == {"parallel_worker": True, "max_concurrency": 2}
    assert (inner.timeout, inner.max_concurrency, names(inner.edges)) == (3, 4, [("__START__", "normal")])
    assert (writer.subject.name, writer.options) == ("writer", {"timeout": 5})


def test_a_class_of_no_known_kind(graphs: Any) -> None:
    graphs.write("kinds.py", "from pydantic import BaseModel\nclass Stranger(BaseModel):\n    name: str\n")
    message = graphs.refused("agent_class: kinds.Stranger\nname: x\n")
    assert message.startswith("root_agent.yaml:1: agent_class 'kinds.Stranger' is not an agent class")


def test_routes_are_texts_where_they_look_like_it(graphs: Any) -> None:
    agent = graphs.load(graph("edges:\n  - [START, parts.classify, {yes: parts.urgent, no: parts.normal}]\n"))
    assert set(agent.edges[0][2]) == {"yes", "no"}


def test_nodes_as_a_list_and_names_before_their_nodes(graphs: Any) -> None:
    agent = graphs.load(
        graph("""\
nodes:
  - {name: one, function: parts.classify}
edges:
  - {from: START, to: one}
  - {from: one, to: two}
  - [two, three]
  - [{name: two, function: parts.urgent}, {name: three, function: parts.normal}]
""")
    )
    assert [edge["to"] for edge in names(agent.edges)[:2]] == ["one", "two"]
    assert agent.edges[1].to_node is agent.edges[2][0]


WRONG = {
    "no list": ("edges: a\n", "3: edges: expected a list, not str"),
    "no edge": ("edges:\n  - a\n", "4: an edge is a list such as [START, a, b] or {from: a, to: b}, not str"),
    "too short": ("edges:\n  - [START]\n", "4: a chain has two nodes or more"),
    "unknown node": (
        "nodes: {classify: parts.classify}\nedges:\n  - [START, classify]\n  - [classify, clasify]\n",
        "6: no node is called 'clasify'; did you mean 'classify'?",
    ),
    "no such node": ("edges:\n  - [START, zzz]\n", "4: no node is called 'zzz' (there are: none); declare it under"),
    "in no edge": (
        "nodes:\n  a: parts.classify\n  b: parts.urgent\nedges: [[START, a]]\n",
        "5: the node 'b' is in no edge",
    ),
    "unknown key": ("edges:\n  - {from: START, to: parts.classify, rout: x}\n", "4: unknown key 'rout' in an edge"),
    "no end": ("edges:\n  - {from: START}\n", "4: 'to' of the edge is missing"),
    "routes first": ("edges:\n  - [{a: parts.classify}, parts.urgent]\n", "4: a map of routes comes after the node"),
    "no routes": ("edges:\n  - [START, parts.classify, {}]\n", "4: the map of routes is empty"),
    "empty list": ("edges:\n  - [START, []]\n", "4: an empty list leads nowhere"),
    "node is a number": ("nodes: {a: 3}\nedges: [[START, a]]\n", "3: a node is a name, a file or a mapping, not int"),
    "two subjects": (
        "nodes:\n  a:\n    function: parts.classify\n    config_path: writer.yaml\nedges: [[START, a]]\n",
        "6: a node has 'function' or 'config_path', not both",
    ),
    "wrong option": (
        "nodes:\n  a:\n    function: parts.classify\n    time_out: 3\nedges: [[START, a]]\n",
        "6: unknown key 'time_out' in a node; did you mean 'timeout'?",
    ),
    "reserved": ("nodes: {START: parts.classify}\nedges: [[START, START]]\n", "3: a node cannot be called 'START'"),
    "outside": ("edges:\n  - [START, os.system]\n", "4: 'os.system' is not allowed here"),
    "no function": ("edges:\n  - [START, parts.number]\n", "4: 'parts.number' is int, neither a function nor a node"),
    "a class": ("edges:\n  - [START, parts.Plain]\n", "4: 'parts.Plain' is the class Plain, neither a function nor"),
    "two of a name": (
        "edges:\n  - [START, {name: a, function: parts.urgent}]\n  - [a, {name: a, function: parts.normal}]\n",
        "5: two nodes are called 'a'",
    ),
    "no edges": ("nodes: {a: parts.classify}\n", "3: 'nodes' goes with 'edges', which is missing"),
    "wrong agent": ("nodes:\n  a: {instruction: x, modle: y}\nedges: [[START, a]]\n", "4: unknown key 'modle'"),
    "nested file": ("edges:\n  - [START, none.yaml]\n", "4: config_path 'none.yaml': there is no such YAML file"),
    "retry": (
        "nodes:\n  a: {function: parts.urgent, retry_config: {max_atempts: 1}}\nedges: [[START, a]]\n",
        "4: 'a' cannot be made of these args: TypeError",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_file_and_line(graphs: Any, text: str, message: str) -> None:
    assert graphs.refused(graph(text)).startswith(f"root_agent.yaml:{message}")


EDGES = "edges:\n  - [START, classify, {urgent: urgent, DEFAULT: [write, {name: a, instruction: b}]}]\n"


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (NODES + EDGES, True),
        (NODES + "edges:\n  - {from: START, to: [a, b], route: [x, 3, true]}\n  - [[a, b], c]\n", True),
        ("nodes: [{name: a, tool: google_search}]\nedges: [[START, a]]\n", True),
        ("nodes: {a: {function: parts.f, time_out: 3}}\nedges: [[START, a]]\n", False),
        ("edges:\n  - {from: START, too: a}\n", False),
        ("edges:\n  - [START]\n", False),
        ("edges: START\n", False),
    ],
)
def test_the_schema_knows_graphs(graphs: Any, text: str, valid: bool) -> None:
    document = read_document(graphs.write("a.yaml", graph(text)))
    assert Draft202012Validator(agent_schema(graphs.composition)).is_valid(document.data) is valid


def test_nothing_runs_before_the_graph_is_read(graphs: Any, tripwire: Any) -> None:
    graphs.write("witness.py", "import tripwire\ndef f(): ...\n")
    graphs.refused(graph("nodes: {a: witness.f}\nedges:\n  - [START, a]\n  - [a, zzz]\n"))
    assert not tripwire()


def test_only_a_graph_has_nodes(graphs: Any) -> None:
    assert graphs.refused("name: x\nnodes: {}\n").startswith("root_agent.yaml:2: unknown key 'nodes' in LlmAgent")
