"""Apps from YAML files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.apps import App, LlmEventSummarizer
from newel.files import load_file
from newel.files.apps import plugin_names
from newel.plugins import LoggingPlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import AgentConfigError

CODE = """
    from newel.agents import LlmAgent
    from newel.apps import BaseEventsSummarizer
    from newel.plugins import BasePlugin
    from newel.sessions import InMemorySessionService

    expert = LlmAgent(name="expert", model="echo:")
    sessions = InMemorySessionService()
    registry = {}

    class Own(BasePlugin):
        def __init__(self, name="own", most=1):
            super().__init__(name)
            self.most = most

    ready = Own("ready", 5)

    class Short(BaseEventsSummarizer):
        async def maybe_summarize_events(self, *, events):
            return None
"""


class Desk:
    """The folder of an app."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("helper.yaml", "name: helper\nmodel: 'echo:'\n")
        self.write("mine.py", CODE)

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def app(self, text: str) -> App:
        return App.from_config(self.write("app.yaml", text))

    def refused(self, text: str) -> str:
        with pytest.raises(AgentConfigError) as caught:
            self.app(text)
        return str(caught.value).removeprefix(f"{self.path}/")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "desk"
    folder.mkdir()
    return Desk(folder)


def test_an_app_with_every_field(desk: Desk) -> None:
    app = desk.app("""\
        name: front-desk
        root_agent: {config_path: helper.yaml}
        plugins:
          - LoggingPlugin
          - mine.ready
          - mine.Own
          - {name: mine.Own, args: {name: other, most: 3}}
        resumability_config: {is_resumable: true}
        context_cache_config: {ttl_seconds: 60}
        events_compaction_config:
          compaction_interval: 3
          overlap_size: 1
          summarizer: {name: LlmEventSummarizer, args: {llm: "echo:"}}
        session_service: "memory:"
        artifact_service: "memory:"
        memory_service: "memory:"
        auth_provider_registry: mine.registry
        """)
    assert (app.name, app.root_agent.name) == ("front-desk", "helper")
    assert isinstance(app.plugins[0], LoggingPlugin)
    assert [plugin.most for plugin in app.plugins[1:]] == [5, 1, 3]
    assert app.context_cache_config is not None
    assert app.context_cache_config.ttl_seconds == 60
    assert app.events_compaction_config is not None
    assert app.events_compaction_config.compaction_interval == 3
    assert isinstance(app.events_compaction_config.summarizer, LlmEventSummarizer)
    assert isinstance(app.session_service, InMemorySessionService)
    assert app.auth_provider_registry == {}
    assert Runner(app=app).session_service is app.session_service


def test_a_root_agent_and_services_of_the_code(desk: Desk) -> None:
    app = desk.app("""\
        name: desk
        agent: {code: mine.expert}
        session_service: {name: mine.sessions}
        events_compaction_config: {token_threshold: 9, event_retention_size: 2, summarizer: mine.Short}
        """)
    assert app.root_agent.name == "expert"
    assert isinstance(app.session_service, InMemorySessionService)
    assert type(app.events_compaction_config.summarizer).__name__ == "Short"  # type: ignore[union-attr]


def test_either_kind_of_file(desk: Desk) -> None:
    assert isinstance(load_file(desk.path / "helper.yaml"), LlmAgent)
    assert isinstance(load_file(desk.write("app.yaml", "name: desk\nroot_agent: helper.yaml\n")), App)


WRONG = {
    "unknown key": ("name: d\nroot_agent: helper.yaml\nplugin: []\n", "3: unknown key 'plugin' in an app file; did"),
    "no name": ("root_agent: helper.yaml\n", "1: name is missing; add a line `name: ...`"),
    "name": ("root_agent: helper.yaml\nname: a b\n", "2: name: invalid app name 'a b'"),
    "two roots": ("name: d\nroot_agent: helper.yaml\nagent: helper.yaml\n", "3: 'agent' means the same as"),
    "no file": ("name: d\nroot_agent: mine.expert\n", "2: root_agent 'mine.expert' is not a YAML file; write `code: "),
    "above": ("name: d\nroot_agent: ../a.yaml\n", "2: root_agent '../a.yaml' leaves the app's folder"),
    "itself": ("name: d\nroot_agent: app.yaml\n", "2: agent files refer to each other in a cycle (app.yaml -> "),
    "nested setting": (
        "name: d\nroot_agent: helper.yaml\ncontext_cache_config:\n  ttl_seconds: 0\n",
        "4: context_cache_config.ttl",
    ),
    "half a window": (
        "name: d\nroot_agent: helper.yaml\nevents_compaction_config:\n  compaction_interval: 3\n",
        "3: events_compaction_config: compaction_interval and overlap_size must be set together.",
    ),
    "plugin": ("name: d\nroot_agent: helper.yaml\nplugins: [LogingPlugin]\n", "3: there is no plugin 'LogingPlugin'"),
    "plugin's args": (
        "name: d\nroot_agent: helper.yaml\nplugins: [{name: mine.Own, args: {least: 1}}]\n",
        "3: 'mine.Own' cannot be made of these args: TypeError",
    ),
    "summarizer": (
        "name: d\nroot_agent: helper.yaml\nevents_compaction_config:\n  token_threshold: 1\n"
        "  event_retention_size: 1\n  summarizer: mine.ready\n",
        "6: summarizer: Own is not a BaseEventsSummarizer",
    ),
    "summarizer's args": (
        "name: d\nroot_agent: helper.yaml\nevents_compaction_config:\n  token_threshold: 1\n"
        "  event_retention_size: 1\n  summarizer: {name: LlmEventSummarizer, args: {model: x}}\n",
        "6: LlmEventSummarizer has the args `llm`",
    ),
    "service": ("name: d\nroot_agent: helper.yaml\nsession_service: sqlite\n", "3: session_service: expected a URI"),
    "no such service": ("name: d\nroot_agent: helper.yaml\nsession_service: 'nowhere:x'\n", "3: session_service: no "),
    "outside": ("name: d\nroot_agent: helper.yaml\nplugins: [os.system]\n", "3: 'os.system' is not allowed here"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_file_and_line(desk: Desk, text: str, message: str) -> None:
    assert desk.refused(text).startswith(f"app.yaml:{message}")


def test_a_fault_in_the_agents_file_keeps_the_apps_code_from_running(desk: Desk) -> None:
    desk.write("mine.py", "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\nready = 3\n")
    desk.write("helper.yaml", "name: helper\nmodle: x\n")
    assert desk.refused("name: d\nplugins: [mine.ready]\nroot_agent: helper.yaml\n").startswith("helper.yaml:2: ")
    assert not (desk.path / "ran").exists()


def test_every_plugin_that_a_file_can_name_is_one() -> None:
    import newel.plugins

    kinds: list[Any] = [getattr(newel.plugins, name) for name in plugin_names()]
    assert len(kinds) > 5
    assert all(issubclass(kind, newel.plugins.BasePlugin) for kind in kinds)
