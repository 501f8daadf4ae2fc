"""The built-in distributions: the specified chain, in any order of discovery, and without any one plugin."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.models import BaseLlm
from newel.runners import Runner
from newel.sessions.kinds import SessionBackend
from newel_compose import PLUGIN_GROUP, compose
from newel_compose._internal import discovery
from newel_kernel import FeatureUnavailableError, LlmRequest, LlmResponse, NewelError
from newel_types import Content, Part

#: RULINGS.md, "Order and flow": agent_transfer last.
REQUEST_CHAIN = [
    "basic",
    "auth",
    "confirmation",
    "instructions",
    "identity",
    "compaction",
    "contents",
    "context_cache",
    "interactions",
    "planning",
    "code_execution",
    "output_schema",
    "agent_transfer",
]
#: "After the chain: toolset auth".
AFTER_THE_CHAIN = ["toolset_auth"]
RESPONSE_CHAIN = ["planning", "code_execution"]
BUILT_IN = sorted(point.name for point in entry_points(group=PLUGIN_GROUP) if point.value.startswith("newel."))


def chain(composed: Any) -> list[str]:
    return [stage.name for stage in composed.request_chain]


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_the_chains_are_the_specified_ones(distribution: str) -> None:
    composed = compose(distribution)
    assert [name for name in chain(composed) if name in REQUEST_CHAIN] == REQUEST_CHAIN
    assert [stage.name for stage in composed.response_chain if stage.name in RESPONSE_CHAIN] == RESPONSE_CHAIN
    assert {record.name: record.why for record in composed.plugins if record.state == "failed"} == {}


def test_adk_has_exactly_the_specified_chain() -> None:
    assert chain(compose("adk")) == REQUEST_CHAIN
    assert [stage.name for stage in compose("adk").request_steps] == [*REQUEST_CHAIN, *AFTER_THE_CHAIN]
    assert [stage.name for stage in compose("adk").response_chain] == RESPONSE_CHAIN


def test_minimal_loads_nothing_that_it_does_not_name() -> None:
    composed = compose("minimal")
    assert chain(composed) == ["basic", "instructions", "identity", "contents"]
    assert composed.response_chain == composed.result_chain == ()


def test_every_stage_says_where_it_comes_from() -> None:
    for placed in compose("adk").placed["request_chain"]:
        assert (placed.plugin, placed.why) == (placed.stage.name, "distribution")
        assert placed.source == "newel 0.1.0"


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Deals the installed entry points out in another order each time it is called."""
    dice = random.Random(11)
    scan = discovery.scan

    def dealt(groups: Any = ()) -> dict[str, list[Any]]:
        return {group: dice.sample(sorted(points, key=repr), len(points)) for group, points in scan().items()}

    def shuffle() -> None:
        monkeypatch.setattr(discovery, "scan", dealt)

    return shuffle


def test_200_shuffles_of_discovery_compose_the_same_adk(shuffled: Callable[[], None]) -> None:
    wanted = compose("adk")
    for _ in range(200):
        shuffled()
        composed = compose("adk")
        assert chain(composed) == REQUEST_CHAIN
        assert composed.plugins == wanted.plugins
        assert [list(k) for _, k in composed.registry.kinds()] == [list(k) for _, k in wanted.registry.kinds()]


def test_200_shuffles_with_installed_stages_compose_the_same_standard(site: Any, shuffled: Callable[[], None]) -> None:
    site.stage("rag", "rag", after=("contents",))
    site.stage("fence", "fence", after=("contents",))
    site.stage("audit", "audit", before=("rag",))
    site.stage("greet", "greet", before=("basic",))
    at = REQUEST_CHAIN.index("contents") + 1
    wanted = ["greet", *REQUEST_CHAIN[:at], "audit", "fence", "rag", *REQUEST_CHAIN[at:]]
    for _ in range(200):
        shuffled()
        assert [name for name in chain(compose("standard")) if name in wanted] == wanted


@pytest.mark.parametrize("distribution", ["minimal", "adk", "standard"])
def test_composing_imports_no_sdk(distribution: str) -> None:
    """In a process of its own: this one may have them for other tests."""
    code = f"""
import sys
from newel_compose import compose
compose({distribution!r})
heavy = ("google.genai", "anthropic", "litellm", "openai", "sqlalchemy", "starlette", "click", "prompt_toolkit", "rich")
print(sorted(name for name in sys.modules if name.startswith(heavy)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Greeter(BaseLlm):
    """Greets back, without any plugin."""

    model: str = "greeter"

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        yield LlmResponse(content=Content(role="model", parts=[Part(text="hello")]))


#: What a distribution without one built-in plugin cannot do: the error of a simple turn, and a word it says.
#: With every other one missing, the turn runs.
NEEDED: dict[str, tuple[type[NewelError], str]] = {
    "sessions": (FeatureUnavailableError, "no enabled plugin declares what a session backend is"),
    "credentials": (FeatureUnavailableError, "no enabled plugin declares what a credential backend is"),
    "memory_sessions": (FeatureUnavailableError, "no plugin provides a session store for 'memory:'"),
    "memory_credentials": (FeatureUnavailableError, "no plugin provides a credential store for 'memory:'"),
}
#: The distributions that do without a store by themselves.
WITHOUT = {("memory_credentials", "adk"), ("credentials", "adk")}


def turn(composed: Any, agent: LlmAgent, talk: Any, *, own_store: bool = False) -> str:
    """The answer's text in a simple turn, with the distribution's own session store unless told otherwise."""
    service = None if own_store else composed.open_service(SessionBackend)
    conversation = talk(agent, composition=composed, service=service)
    return str(conversation.say("tea")[-1].content.parts[0].text)


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize("plugin", BUILT_IN)
def test_any_single_plugin_can_be_disabled(plugin: str, distribution: str, extending: Any, talk: Any) -> None:
    composed = compose(extending(distribution, f"disable: [{plugin}]"))
    assert {r.name: r.state for r in composed.plugins}[plugin] == "disabled"
    assert plugin not in chain(composed)
    agent = LlmAgent(name="waiter", model=Greeter(), instruction="Serve tea.")
    if plugin not in NEEDED or (plugin, distribution) in WITHOUT:
        assert turn(composed, agent, talk) == "hello"
        return
    error, words = NEEDED[plugin]
    with pytest.raises(NewelError) as caught:
        turn(composed, agent, talk)
    assert isinstance(caught.value, error)
    assert words in str(caught.value)
    assert str(caught.value).endswith(f"distribution 'house' disables {plugin}")
    if plugin in ("credentials", "memory_credentials"):
        composed = compose(extending(distribution, f"disable: [{plugin}]\nservices: {{credential: ''}}"))
    assert turn(composed, agent, talk, own_store=True) == "hello"


#: What else says so when it is used without its plugin: an agent's fields, and what the error names.
USES: dict[str, tuple[Callable[[], LlmAgent], str]] = {
    "function_tools": (lambda: LlmAgent(name="waiter", model=Greeter(), tools=[len]), "no adapter accepts it"),
    "echo": (lambda: LlmAgent(name="waiter", model="echo:"), "unknown model 'echo:'"),
    "demo": (lambda: LlmAgent(name="waiter", model="demo:"), "unknown model 'demo:'"),
    "gemini": (lambda: LlmAgent(name="waiter", model="gemini-2.5-flash"), "unknown model 'gemini-2.5-flash'"),
}


@pytest.mark.parametrize("plugin", USES)
def test_what_needs_a_disabled_plugin_says_so(plugin: str, extending: Any, talk: Any) -> None:
    make, words = USES[plugin]
    composed = compose(extending("adk", f"disable: [{plugin}]"))
    with pytest.raises(NewelError) as caught:
        turn(composed, make(), talk)
    assert words in str(caught.value)
    assert str(caught.value).endswith(f"distribution 'house' disables {plugin}")


def test_a_turn_with_the_echo_model_runs_on_every_distribution(talk: Any) -> None:
    for distribution in ("minimal", "adk", "standard"):
        answer = turn(compose(distribution), LlmAgent(name="waiter", model="echo:"), talk)
        assert '"text": "tea"' in answer


def test_what_has_nothing_to_do_for_an_app_is_left_out_of_its_steps() -> None:
    class App:
        context_cache_config: Any = None
        events_compaction_config: Any = None

    whole = compose("adk")
    bare = whole.for_app(None)
    assert len(bare.request_steps) == len(whole.request_steps) - 2  # context_cache and compaction
    assert bare.request_chain == whole.request_chain
    assert whole.for_app(App()) is bare.for_app(None) is bare
    caching = App()
    caching.context_cache_config = caching.events_compaction_config = object()
    assert whole.for_app(caching) is whole
    assert bare.for_app(caching).request_steps == whole.request_steps
    runner = Runner(app_name="t", agent=LlmAgent(name="a"))
    for composed in (bare, runner.composition):
        assert "context_cache" not in [step.name for step in composed.request_steps]
