"""The plugin: addresses, settings, and its removal, replacement and wrapping by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from newel.models import BaseLlm
from newel.models.anthropic_llm import AnthropicLlm, Claude
from newel.models.kinds import model_of
from newel_compose import Composition, compose
from newel_kernel import ConfigurationError, ModelError
from newel_testkit.wire.caller import Caller, user

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
