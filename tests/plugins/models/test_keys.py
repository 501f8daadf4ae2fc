"""Keys as people paste them: blanks around one do no harm, and what cannot be sent is told without the key."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from tests.plugins.models.test_http_llm import House

from newel.models import BaseLlm
from newel.models.anthropic_llm import AnthropicLlm
from newel.models.google_llm import Gemini
from newel.models.lite_llm import LiteLlm
from newel.models.openai import OpenAILlm, OpenAIResponsesLlm
from newel_kernel import ModelError
from newel_testkit import WIRE_KEY, WireServer
from newel_testkit.wire.caller import Caller, user

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
Make = Callable[[WireServer, dict[str, Any]], BaseLlm]
#: Provider -> the variable of its key, and what makes a model; the fields may hold a key.
MODELS: dict[str, tuple[str, Make]] = {
    "anthropic": ("ANTHROPIC_API_KEY", lambda server, key: AnthropicLlm(model="claude-sonnet-4-5", **key)),
    "openai": ("OPENAI_API_KEY", lambda server, key: OpenAILlm(model="gpt-4o", **key)),
    "openai-responses": ("OPENAI_API_KEY", lambda server, key: OpenAIResponsesLlm(model="gpt-4o", **key)),
    "litellm": (
        "OPENAI_API_KEY",
        lambda server, key: LiteLlm(model="openai/gpt-4o", api_base=server.base["compatible"], **key),
    ),
    "gemini": ("GOOGLE_API_KEY", lambda server, key: Gemini(model="gemini-2.5-flash")),
    "http": ("", lambda server, key: House(model="small", base_url=server.base["compatible"], **key)),
}
#: Where a key comes from: each provider with a variable, and each with a field.
PLACES = [
    *((name, "variable") for name, (variable, _) in MODELS.items() if variable),
    *((name, "field") for name in MODELS if name != "gemini"),
]
EACH = pytest.mark.parametrize(("name", "place"), PLACES)


def ask(server: WireServer, name: str, place: str, key: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    variable, make = MODELS[name]
    if place == "variable":
        for one in ("GEMINI_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.delenv(one, raising=False)
        monkeypatch.setenv(variable, key)
    model = make(server, {"api_key": key} if place == "field" else {})
    (response,) = Caller(server, lambda _: model, model.model).ask(user("Hi"), llm=model)
    return response.content.parts[0].text  # type: ignore[union-attr,index]


@EACH
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (f"\N{LEFT DOUBLE QUOTATION MARK}{WIRE_KEY}\N{RIGHT DOUBLE QUOTATION MARK}", "character 1 of 27 is U+201C (l"),
        (f"{WIRE_KEY}\N{ZERO WIDTH SPACE}", "character 26 of 26 is U+200B (zero width space)"),
        (f"{WIRE_KEY[:4]}\N{NO-BREAK SPACE}{WIRE_KEY[4:]}", "character 5 of 26 is U+00A0 (no-break space)"),
        (f"{WIRE_KEY[:4]}\n{WIRE_KEY[4:]}", "character 5 of 26 is U+000A (a control character)"),
    ],
)
def test_a_key_that_cannot_be_sent_is_one_error_with_the_remedy(
    name: str, place: str, wrong: str, says: str, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError) as refused:
        ask(wire_server, name, place, wrong, monkeypatch)
    text = str(refused.value)
    assert says in text
    assert f"from {MODELS[name][0] if place == 'variable' else 'the field api_key'})" in text
    assert text.endswith("copy the key again, without quotes, spaces and line breaks")
    shown = "".join(traceback.format_exception(refused.value))
    assert WIRE_KEY not in shown
    assert WIRE_KEY[4:] not in shown
    assert not wire_server.log


@EACH
def test_blanks_around_a_key_are_left_off(
    name: str, place: str, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(wire_server, name, place, f"\N{NO-BREAK SPACE} {WIRE_KEY}\r\n", monkeypatch) == "Hello there."


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-responses"])
@pytest.mark.parametrize("empty", ["", " \n"])
def test_a_key_that_is_given_and_empty_is_told(
    name: str, empty: str, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match=f"is empty; leave it out, and set {MODELS[name][0]}"):
        ask(wire_server, name, "field", empty, monkeypatch)


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_a_model_is_checked_before_it_is_asked(
    name: str, wire_server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, make = MODELS[name]
    monkeypatch.setenv(variable, f"{WIRE_KEY}\N{RIGHT SINGLE QUOTATION MARK}")
    model: Any = make(wire_server, {})
    with pytest.raises(ModelError, match="cannot be sent"):
        model.check()
