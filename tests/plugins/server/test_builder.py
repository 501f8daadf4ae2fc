"""The builder: agent files are written with `--builder` alone, and say nothing that is not theirs to say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.server.conftest import Serve

from newel.server import Options, Refusal
from newel.server.agent_files import AgentFiles
from newel.server.security.guards import Guards, check_builder
from newel_compose import compose
from newel_kernel import ConfigurationError

AGENT = "name: clerk\nmodel: 'echo:'\ninstruction: one\n"
SAVE = "/dev/apps/clerk/builder/save"
Write = Callable[..., httpx.Response]


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    (folder / "clerk").mkdir(parents=True)
    (folder / "clerk" / "root_agent.yaml").write_text(AGENT)
    (folder / "clerk" / "tools.py").write_text("raise RuntimeError('imported')\n")
    return folder


@pytest.fixture
def client(serve: Serve, agents: Path) -> httpx.Client:
    return serve(agents, options=Options(development=True, builder=True))


def save(client: httpx.Client, name: str, text: str | bytes, path: str = SAVE, **query: Any) -> httpx.Response:
    data = text.encode() if isinstance(text, str) else text
    return client.post(path, files=[("files", (name, data, "application/x-yaml"))], params=query)


def files(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*.y*ml")}


def test_a_file_is_a_draft_until_it_is_saved(client: httpx.Client, agents: Path) -> None:
    said = {"appName": "clerk", "userId": "u", "sessionId": "s", "newMessage": {"parts": [{"text": "hi"}]}}
    client.post("/apps/clerk/users/u/sessions/s")
    assert "one" in client.post("/run", json=said).text
    two = AGENT.replace("one", "two")
    assert save(client, "clerk/root_agent.yaml", two, tmp=True).json() is True
    assert client.get("/dev/apps/clerk/builder?tmp=true").text == two
    assert client.get("/dev/apps/clerk/builder").text == AGENT
    assert client.post("/dev/apps/clerk/builder/cancel").json() is True
    assert client.get("/dev/apps/clerk/builder?tmp=true").text == AGENT
    assert files(agents) == {"clerk/root_agent.yaml": AGENT}
    assert save(client, "clerk/root_agent.yaml", two, tmp=True).json() is True
    assert save(client, "root_agent.yaml", two).json() is True
    assert files(agents) == {"clerk/root_agent.yaml": two}
    assert "two" in client.post("/run", json=said).text  # the agent is loaded again


def test_several_files_make_an_app(client: httpx.Client, agents: Path) -> None:
    root = "name: desk\nmodel: 'echo:'\nsub_agents: [config_path: helper.yaml]\n"
    alone = save(client, "desk/root_agent.yaml", root, path="/builder/save")
    assert alone.status_code == 400
    assert "helper.yaml" in alone.json()["detail"]
    assert str(agents.parent) not in alone.text
    assert "newel-builder" not in alone.text
    assert not (agents / "desk").exists()
    assert save(client, "desk/root_agent.yaml", root, path="/builder/save", tmp=True).json() is True
    both = [("files", (f"desk/{name}.yaml", text)) for name, text in (("root_agent", root), ("helper", AGENT))]
    assert client.post("/builder/save", files=both).json() is True
    assert client.get("/list-apps").json() == ["clerk", "desk"]
    assert client.get("/dev/apps/desk/builder?file_path=helper.yaml").text == AGENT
    mixed = [("files", ("desk/a.yaml", AGENT)), ("files", ("clerk/b.yaml", AGENT))]
    assert client.post("/builder/save", files=mixed).status_code == 400


@pytest.mark.parametrize(
    "name",
    [
        *("../x.yaml", "clerk/../../x.yaml", "/etc/x.yaml", "x.py", "clerk/x.txt", ".env.yaml", "a/.b/x.yaml"),
        *("app.yaml", "tmp/x.yaml", "clerk/tmp/clerk/x.yaml", "a\\b.yaml", "a b.yaml", "x.yaml/", "", "link.yaml"),
        *("out/x.yaml", "x" * 99 + ".yaml", "a/b/c/d/e/x.yaml", "x.YAML", "x.yaml\n"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(client: httpx.Client, agents: Path, name: str) -> None:
    outside = agents.parent / "outside"
    outside.mkdir()
    (outside / "x.yaml").write_text("mine")
    (agents / "clerk" / "link.yaml").symlink_to(outside / "x.yaml")
    (agents / "clerk" / "out").symlink_to(outside)
    before = files(agents.parent)
    for draft in (False, True):
        answer = save(client, name, AGENT, tmp=draft)
        if draft and name in ("link.yaml", "out/x.yaml"):  # a draft of that name is kept elsewhere
            continue
        assert answer.status_code in (400, 422), answer.text
        assert files(agents.parent) == before


@pytest.mark.parametrize(
    "more",
    [
        "tools: [os.system]",
        "tools: [{name: McpToolset, args: {command: sh}}]",
        "tools: [{tool: tools.f, args: [1]}]",
        "tools: [tools.missing.deep.f, nowhere.f]",
        "code_executor: unsafe_local",
        "planner: {name: BuiltInPlanner, args: {}}",
        "before_model_callback: subprocess.run",
        "before_model_callbacks: [{name: tools.f, args: {a: {}}}]",
        "agent_class: os.path",
        "model: {name: tools.f}",
        "model: 'record:/tmp/x:echo:'",
        "model: ' Replay:/etc/passwd'",
        "instruction: ${HUNTER}",
        "instruction: [${HUNTER}]",
        "generate_content_config: {http_options: {base_url: 'https://evil.example'}}",
        "sub_agents: [config_path: ../../x.yaml]",
        "sub_agents: [code: os.agent]",
        "output_schema: os.PathLike",
        "plugins: [LoggingPlugin]",
        "root_agent: root_agent.yaml",
        "description: *a",
        "description: !!python/object/apply:os.system [ls]",
        "unknown: 1",
        ": : [",
    ],
)
def test_what_is_not_theirs_to_say_is_refused_and_nothing_is_kept(
    client: httpx.Client, agents: Path, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUNTER", "hunter2")
    text = "\n".join(line for line in AGENT.splitlines() if line.split(":")[0] != more.split(":")[0])
    for draft in (False, True):
        answer = save(client, "clerk/root_agent.yaml", f"{text}\n{more}\n", tmp=draft)
        assert answer.status_code == 400, answer.text
        assert "hunter2" not in answer.text
        assert files(agents) == {"clerk/root_agent.yaml": AGENT}


def test_what_the_app_uses_may_stay(client: httpx.Client, agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_NAME", "hunter2")
    (agents / "clerk" / "helper.yaml").write_text("name: helper\ndescription: ${DESK_NAME}\n")
    text = f"{AGENT}description: ${{DESK_NAME}}\ntools: [google_search, tools.add]\n"
    assert save(client, "root_agent.yaml", text).json() is True  # and tools.py is not imported
    wrong = save(client, "root_agent.yaml", f"{AGENT}include_contents: ${{DESK_NAME}}\n")
    assert wrong.status_code == 400
    assert "hunter2" not in wrong.text


def test_forms_that_are_none(client: httpx.Client, agents: Path) -> None:
    assert client.post(SAVE, json={}).status_code == 415
    assert client.post(SAVE, content=b"x", headers={"content-type": "multipart/form-data"}).status_code == 422
    assert client.post(SAVE, files=[("other", ("x.yaml", b"name: x"))]).status_code == 422
    assert client.post(SAVE, files=[("files", ("x.yaml", b"a")), ("files", ("x.yaml", b"b"))]).status_code == 422
    assert save(client, "x.yaml", b"\xff\xfe").status_code == 400
    assert save(client, "x.yaml", b"#" * 300_000).status_code == 413
    assert client.post(SAVE, files=[("files", (f"x{n}.yaml", b"#" * 300_000)) for n in range(8)]).status_code == 413
    assert client.post(SAVE, files=[("files", (f"x{n}.yaml", b"#")) for n in range(101)]).status_code == 413
    assert files(agents) == {"clerk/root_agent.yaml": AGENT}


@settings(max_examples=150, deadline=None)
@given(name=st.text(st.sampled_from("ab./\\~:\n\0 %-_é") | st.characters(codec="utf-8"), max_size=12))
def test_no_name_leaves_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    above = tmp_path_factory.mktemp("above")
    (above / "clerk").mkdir()
    with suppress(Refusal):
        AgentFiles(above / "clerk", compose("standard")).save({f"{name}.yaml": AGENT.encode()}, as_draft=False)
    assert [one.name for one in above.iterdir()] == ["clerk"]
    assert all(one.resolve().is_relative_to(above / "clerk") for one in above.rglob("*.yaml"))


def test_it_is_off_by_default(serve: Serve, agents: Path) -> None:
    client = serve(agents, options=Options(development=True))
    assert save(client, "root_agent.yaml", AGENT).status_code == 404
    assert client.post("/dev/apps/clerk/builder/cancel").status_code == 404
    assert save(serve(agents, options=Options(builder=True)), "root_agent.yaml", AGENT).status_code == 404


def test_an_app_without_a_folder_has_no_files(serve: Serve) -> None:
    client = serve(options=Options(development=True, builder=True))
    assert save(client, "root_agent.yaml", AGENT).status_code == 400
    assert save(client, "root_agent.yaml", AGENT, path="/dev/apps/..%2Fx/builder/save").status_code == 400


def test_it_needs_a_token() -> None:
    with pytest.raises(ConfigurationError, match="--no-token"):
        check_builder(True, Guards())
    check_builder(True, Guards(token="t" * 20))
    check_builder(True, Guards(), has_user_of=True)
    check_builder(False, Guards())
