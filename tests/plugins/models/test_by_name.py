"""Each provider is removed, replaced and wrapped by its name, and settings say what its models can do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from newel.models import BaseLlm
from newel.models.kinds import ModelCall, ModelPolicy, ModelProvider, model_of
from newel.models.policies.chain import policed
from newel.testing import ScriptedModel
from newel_compose import Composition, compose
from newel_kernel import Chains, ConfigurationError, LlmRequest, LlmResponse, ModelError, hookimpl
from newel_testkit import WireServer
from newel_testkit.wire.caller import HELLO, Caller, user

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
#: Plugin, provider, address.
PROVIDERS = [
    ("anthropic", "anthropic", "anthropic:claude-sonnet-4-5"),
    ("openai", "openai", "openai:gpt-4o"),
    ("openai", "openai-responses", "openai-responses:gpt-4o"),
    ("openai_endpoints", "ollama", "ollama:qwen3"),
    ("litellm", "litellm", "litellm:openai/gpt-4o"),
    ("gemini", "gemini", "gemini:gemini-2.5-flash"),
]
EACH = pytest.mark.parametrize(("plugin", "provider", "address"), PROVIDERS, ids=[one[1] for one in PROVIDERS])
#: What every provider has from the same place.
SOME = pytest.mark.parametrize(("plugin", "provider", "address"), PROVIDERS[::2], ids=[o[1] for o in PROVIDERS[::2]])
Make = Callable[[str], BaseLlm]


def composed(tmp_path: Path, lines: str = "", *plugins: object) -> Composition:
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nextends: standard\n{lines}")
    return compose(file, plugins=plugins)


class Loud(BaseLlm):
    """Another model, in capitals."""

    inner: BaseLlm

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in self.inner.generate_content_async(llm_request, stream):
            for part in (response.content.parts if response.content else None) or ():
                part.text = (part.text or "").upper()
            yield response


def mine(provider: str, create: Make) -> object:
    class Mine:
        name = "mine"

        @hookimpl
        def register_model_providers(self) -> list[ModelProvider]:
            return [ModelProvider(name=provider, create=create)]

    return Mine()


def said(server: WireServer, model: BaseLlm) -> Any:
    (response,) = Caller(server, lambda name: model, model.model).ask(user("Hi"), steps=HELLO, llm=model)
    assert response.content is not None
    return (response.content.parts or [])[0].text


@pytest.fixture
def server(wire_server: WireServer) -> WireServer:
    return wire_server


def local_endpoint(server: WireServer) -> str:
    """The settings by which ``ollama:`` ends at the server, too."""
    return f"settings: {{openai_endpoints: {{endpoints: {{ollama: {{base_url: '{server.base['compatible']}'}}}}}}}}\n"


@EACH
def test_it_is_removed_by_name(plugin: str, provider: str, address: str, tmp_path: Path, server: WireServer) -> None:
    without = composed(tmp_path, f"disable: [{plugin}]\n")
    with pytest.raises(ModelError, match=f"unknown model {address!r}"):
        model_of(without, address)


@EACH
def test_it_is_replaced_by_name(plugin: str, provider: str, address: str, tmp_path: Path, server: WireServer) -> None:
    other = composed(tmp_path, f"replace: {{{provider}: mine}}\n", mine(provider, lambda _: ScriptedModel(["Mine."])))
    assert said(server, model_of(other, address)) == "Mine."


@EACH
def test_it_is_wrapped_by_name(plugin: str, provider: str, address: str, tmp_path: Path, server: WireServer) -> None:
    endpoint = local_endpoint(server)
    inner = composed(tmp_path, endpoint).registry.find(ModelProvider, provider)
    lines = f"replace: {{{provider}: mine}}\n{endpoint}"
    wrapped = composed(tmp_path, lines, mine(provider, lambda given: Loud(model=given, inner=inner.create(given))))
    model = model_of(wrapped, address)
    assert isinstance(model, Loud)
    (response,) = Caller(server, lambda name: model, "").ask(user("Hi"), steps=HELLO, llm=model, name=model.inner.model)
    assert response.content is not None
    assert (response.content.parts or [])[0].text == "HELLO THERE."


@SOME
def test_a_policy_stands_around_it(
    plugin: str, provider: str, address: str, tmp_path: Path, server: WireServer
) -> None:
    seen: list[str] = []

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        def ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            seen.append(str(getattr(model, "provider", "")))
            return call(model, request, stream)

        return ask

    class Watch:
        name = "watch"

        @hookimpl
        def register_model_call_policies(self) -> list[ModelPolicy]:
            return [ModelPolicy(name="watch", wrap=wrap, before=("model_errors",))]

    endpoint = local_endpoint(server)
    composition = composed(tmp_path, endpoint, Watch())
    model = policed(composition, model_of(composition, address))
    assert said(server, model) == "Hello there."
    assert seen == [provider]


@SOME
def test_settings_say_what_a_model_can_do(
    plugin: str, provider: str, address: str, tmp_path: Path, server: WireServer
) -> None:
    name = address.partition(":")[2].replace(".", r"\.")
    said = f"'{address}': {{media: [image, video]}}, '.*{name}': {{system: false}}"
    settings = f"settings: {{models: {{capabilities: {{{said}}}}}}}\n"
    capable = model_of(composed(tmp_path, settings), address).capabilities
    assert (capable.media, capable.system) == (frozenset({"image", "video"}), False)
    plain = model_of(composed(tmp_path), address).capabilities
    assert "video" not in plain.media or provider == "gemini"
    assert plain.system


@pytest.mark.parametrize(
    ("said", "words"),
    [("x: {medai: []}", "no capability 'medai'; did you mean 'media'"), ("'(': {system: true}", "is not a pattern")],
)
def test_wrong_settings_are_refused_when_they_are_composed(said: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        composed(tmp_path, f"settings: {{models: {{capabilities: {{{said}}}}}}}\n")
