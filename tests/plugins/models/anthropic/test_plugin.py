"""The plugin: addresses, settings, and its removal, replacement and wrapping by name."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from newel.models.anthropic_llm import AnthropicLlm, Claude
from newel.models.kinds import ModelProvider, model_of
from newel.models.scripted import ScriptedModel
from newel.testing.wire.caller import Caller, user
from newel_compose import Composition, compose
from newel_kernel import BaseLlm, ConfigurationError, LlmRequest, LlmResponse, ModelError, hookimpl

VERTEX = "projects/p/locations/l/publishers/anthropic/models/claude-opus-5"


def _composed(tmp_path: Path, text: str = "", *plugins: object) -> Composition:
    file = tmp_path / "newel.yaml"
    file.write_text(f"name: mine\nextends: standard\nautoload: false\n{text}")
    return compose(str(file), plugins=plugins)


@pytest.mark.parametrize(
    ("address", "kind", "name"),
    [
        ("claude-sonnet-4-5", AnthropicLlm, "claude-sonnet-4-5"),
        ("anthropic:claude-opus-5", AnthropicLlm, "claude-opus-5"),
        ("anthropic:of-a-proxy", AnthropicLlm, "of-a-proxy"),
        (VERTEX, Claude, VERTEX),
        (f"anthropic:{VERTEX}", Claude, VERTEX),
    ],
)
def test_an_address_means_a_model(key: str, tmp_path: Path, address: str, kind: type[BaseLlm], name: str) -> None:
    model = model_of(_composed(tmp_path), address)
    assert type(model) is kind
    assert model.model == name
    assert key not in repr(model)


def test_settings_reach_the_model(claude: Caller, tmp_path: Path) -> None:
    settings = "settings:\n  anthropic: {max_tokens: 77, capabilities: {claude-sonnet-4-5: {sampling: [top_p]}}}\n"
    model = model_of(_composed(tmp_path, settings), "anthropic:claude-sonnet-4-5")
    body = claude.sent(user("Hi"), llm=model, temperature=0.5, top_p=0.5)
    assert body["max_tokens"] == 77
    assert "temperature" not in body
    assert body["top_p"] == 0.5
    with pytest.raises(ConfigurationError, match="max_token"):
        _composed(tmp_path, "settings:\n  anthropic: {max_token: 1}\n")
    composed = _composed(tmp_path, "settings:\n  anthropic: {vertexai: true}\n")
    assert type(model_of(composed, "claude-opus-5")) is Claude


def test_it_is_removed_by_name(tmp_path: Path) -> None:
    composed = _composed(tmp_path, "disable: [anthropic]\n")
    with pytest.raises(ModelError, match="unknown model 'claude-opus-5'"):
        model_of(composed, "claude-opus-5")


class _Mine:
    """Another provider of the same name; around what it replaces, if it is given that."""

    name = "mine"

    def __init__(self, inner: ModelProvider | None = None) -> None:
        self._inner = inner

    @hookimpl
    def register_model_providers(self) -> list[ModelProvider]:
        return [ModelProvider(name="anthropic", create=self._create, patterns=("claude-.*",))]

    def _create(self, address: str) -> BaseLlm:
        if self._inner is None:
            return ScriptedModel(["Mine."])
        return _Loud(model=address, inner=self._inner.create(address))


class _Loud(BaseLlm):
    """Another model, in capitals."""

    inner: BaseLlm

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in self.inner.generate_content_async(llm_request, stream):
            for part in (response.content.parts if response.content else None) or ():
                part.text = (part.text or "").upper()
            yield response


def test_it_is_replaced_and_wrapped_by_name(claude: Caller, tmp_path: Path) -> None:
    plain = _composed(tmp_path).registry.find(ModelProvider, "anthropic")
    texts = []
    for mine in (_Mine(), _Mine(plain)):
        composed = _composed(tmp_path, "replace: {anthropic: mine}\n", mine)
        (response,) = claude.ask(user("Hi"), llm=model_of(composed, "claude-sonnet-4-5"))
        assert response.content is not None
        texts.append(response.content.parts[0].text)  # type: ignore[index]
    assert texts == ["Mine.", "HELLO THERE."]
