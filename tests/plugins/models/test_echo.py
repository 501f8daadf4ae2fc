"""``echo:`` answers with the request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from newel.agents import LlmAgent
from newel.models.echo_model import EchoModel, create
from newel_kernel import ModelError
from newel_types import Content, Part


def ping(host: str) -> str:
    """Pings a host."""
    return host


def test_answers_with_the_request(kit: Any) -> None:
    agent = LlmAgent(name="root", model="echo:", instruction="Be brief.", tools=[ping])
    found = json.loads(kit.Talk(agent).answer("hello"))
    assert list(found) == ["model", "system_instruction", "contents", "tools", "config"]
    assert found["model"] == "echo:"
    assert found["system_instruction"].startswith("Be brief.")
    assert found["contents"] == [{"parts": [{"text": "hello"}], "role": "user"}]
    declaration = found["tools"][0]["function_declarations"][0]
    assert declaration["name"] == "ping"
    assert declaration["parameters_json_schema"]["required"] == ["host"]
    assert found["config"]["labels"] == {"adk_agent_name": "root"}


def test_bytes_are_abbreviated_and_schemas_shown(kit: Any) -> None:
    class City(BaseModel):
        name: str

    image = Content(role="user", parts=[Part.from_bytes(data=bytes(range(100)), mime_type="image/png")])
    request = kit.request(image, response_schema=City, temperature=0.5)
    (response,) = kit.ask(EchoModel(), request)
    found = json.loads(kit.text_of(response))
    assert found["contents"][0]["parts"][0]["inline_data"]["data"] == "<100 bytes: 0001020304050607…>"
    assert found["config"]["response_schema"]["properties"]["name"]["type"] == "string"
    assert found["config"]["temperature"] == 0.5


def test_the_same_request_gives_the_same_text_and_streams(kit: Any) -> None:
    one, other = (kit.ask(EchoModel(), kit.request("hi", top_k=3, seed=1))[0] for _ in range(2))
    assert kit.text_of(one) == kit.text_of(other)
    *chunks, whole = kit.ask(EchoModel(), kit.request("hi", top_k=3, seed=1), stream=True)
    assert len(chunks) > 1
    assert all(chunk.partial for chunk in chunks)
    assert "".join(map(kit.text_of, chunks)) == kit.text_of(whole) == kit.text_of(one)
    assert not whole.partial


def test_a_wrong_address_names_the_right_one() -> None:
    with pytest.raises(ModelError, match=r"'echo:foo' is wrong.*use 'echo:'"):
        create("echo:foo")
