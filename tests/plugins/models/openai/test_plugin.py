"""Addresses: which model of which endpoint they mean, and what is wrong with those that mean none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from newel.models import BaseLlm
from newel.models.kinds import ModelProvider, default_model, model_of
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm, Profile
from newel.models.openai.model import OpenAIModel
from newel_compose import Composition, compose
from newel_kernel import ConfigurationError, ModelError, hookimpl

KEY = "sk-test-SECRET-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENROUTER_API_KEY", "VLLM_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def composed(tmp_path: Path, settings: str = "") -> Composition:
    file = tmp_path / "newel.yaml"
    file.write_text(f"name: mine\nextends: standard\nautoload: false\n{settings}")
    return compose(str(file))


def settings_of(*lines: str) -> str:
    return "\n".join(("settings:", "  openai_endpoints:", "    endpoints:", *(f"      {line}" for line in lines)))


def made(composition: Composition, address: str) -> OpenAIModel:
    model = model_of(composition, address)
    assert isinstance(model, OpenAIModel)
    return model


@pytest.mark.parametrize(
    ("address", "kind", "name"),
    [
        ("gpt-5-mini", OpenAILlm, "gpt-5-mini"),
        ("o4-mini", OpenAILlm, "o4-mini"),
        ("openai:ft:gpt-4o:me::1", OpenAILlm, "ft:gpt-4o:me::1"),
        ("openai-responses:gpt-5", OpenAIResponsesLlm, "gpt-5"),
        ("ollama:qwen3:8b", OpenAILlm, "qwen3:8b"),
        ("vllm:org/name", OpenAILlm, "org/name"),
    ],
)
def test_an_address_means_a_model(address: str, kind: type[OpenAIModel], name: str, tmp_path: Path) -> None:
    model = made(composed(tmp_path), address)
    assert type(model) is kind
    assert model.model == name
    assert KEY not in repr(model) + str(model)


def test_a_key_is_needed_where_the_profile_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    composition = composed(tmp_path)
    assert made(composition, "ollama:x").settled_profile.needs_key is False
    for address, variable in (("openai:x", "OPENAI_API_KEY"), ("openrouter:a/b", "OPENROUTER_API_KEY")):
        with pytest.raises(ModelError, match=f"needs an API key: set {variable}"):
            model_of(composition, address)


def test_the_default_is_there_with_the_key(tmp_path: Path) -> None:
    assert default_model(composed(tmp_path)) == "openai:gpt-6.1-terra"


def test_settings_add_endpoints_and_change_those_that_are_known(tmp_path: Path) -> None:
    lines = (
        "ollama: {base_url: 'http://box:11434/v1'}",
        "lab: {like: vllm, base_url: 'http://gpu:8000/v1', reasoning_back: reasoning_content}",
        "azure: {protocol: responses, base_url: 'https://me.example/openai/v1', key_variable: OPENAI_API_KEY}",
    )
    composition = composed(tmp_path, settings_of(*lines))
    changed = made(composition, "ollama:x").settled_profile
    assert (changed.base_url, changed.think_tags) == ("http://box:11434/v1", True)
    lab = made(composition, "lab:x")
    assert (lab.provider, lab.settled_profile.thinking_field) == ("lab", "enable_thinking")
    assert lab.settled_profile.reasoning_back == "reasoning_content"
    assert isinstance(made(composition, "azure:gpt-5"), OpenAIResponsesLlm)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("lab: {base_url: 'http://x/v1', reasoning_fild: x}", "an unknown field 'reasoning_fild'; did you mean"),
        ("lab: {like: olama}", "like 'olama', which does not exist; did you mean 'ollama'"),
        ("lab: {think_tags: true}", "the endpoint 'lab' needs a base_url"),
        ("lab: {base_url: 'http://x/v1', think_tags: perhaps}", "the endpoint 'lab' is wrong: think_tags"),
        ("lab: {base_url: 'http://x/v1', capabilities: {medai: []}}", "no capability 'medai'; did you mean 'media'"),
    ],
)
def test_a_wrong_profile_is_refused_before_any_request(line: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=words):
        composed(tmp_path, settings_of(line))


def test_a_missing_sdk_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newel.models.openai.client.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install 'newel\[openai\]'"):
        model_of(composed(tmp_path), "gpt-5")


def test_an_endpoint_without_an_address_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the endpoint 'lab' needs a base_url"):
        OpenAILlm(model="x", endpoint="lab").check()
    with pytest.raises(ModelError, match="write 'ollama:NAME'"):
        model_of(composed(tmp_path), "ollama:")


def test_a_provider_is_removed_and_replaced_by_name(tmp_path: Path) -> None:
    without = composed(tmp_path, "disable: [openai]")
    with pytest.raises(ModelError, match="unknown model 'openai:x'"):
        model_of(without, "openai:x")

    class Mine:
        @hookimpl
        def register_model_providers(self) -> list[ModelProvider]:
            return [ModelProvider(name="openai", create=create, patterns=("gpt-.*",))]

    def create(address: str) -> BaseLlm:
        return OpenAILlm(model="mine", endpoint="lab", base_url="http://x/v1")

    file = tmp_path / "newel.yaml"
    composition = compose(str(file), plugins=[Mine()])
    assert model_of(composition, "gpt-5").model == "mine"


def test_public_names_are_the_rooms() -> None:
    from newel.models import openai_llm, openai_responses_llm

    assert openai_llm.OpenAILlm is OpenAILlm
    assert openai_responses_llm.OpenAIResponsesLlm is OpenAIResponsesLlm


@pytest.mark.parametrize("name", ["gpt-5", "gpt-5-mini", "o3"])
def test_models_that_reason_take_efforts(name: str) -> None:
    assert "effort" in OpenAILlm(model=name).capabilities.thinking
    assert not OpenAIResponsesLlm(model=name).capabilities.sampling


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-3.5-turbo"])
def test_other_models_take_sampling_settings(name: str) -> None:
    capable = OpenAILlm(model=name).capabilities
    assert not capable.thinking
    assert capable.sampling


def test_a_profile_changes_what_models_can_do() -> None:
    profile: dict[str, Any] = {"base_url": "http://x/v1", "capabilities": {"media": ["audio"]}}
    model = OpenAILlm(model="x", endpoint="lab", profile=Profile(**profile))
    assert model.capabilities.media == {"audio"}
    assert model.provider_name == "lab"
