"""How agent files refer to agents and code (docs/reference/behaviour.md#agent-files)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from newel.agents.common_configs import AgentRefConfig, ArgumentConfig, CodeConfig


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"code": "m.a", "config_path": "x.yaml"}, "Only one of `code` or `config_path` should be provided"),
        ({}, "Exactly one of `code` or `config_path` must be provided"),
    ],
)
def test_a_reference_is_one_of_two(data: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AgentRefConfig(**data)


def test_a_reference_by_either() -> None:
    assert AgentRefConfig(code="m.a").code == "m.a"
    assert AgentRefConfig(config_path="x.yaml").config_path == "x.yaml"


def test_code_with_arguments() -> None:
    config = CodeConfig(name="m.f", args=[ArgumentConfig(value=1), ArgumentConfig(name="a", value=[2])])
    assert (config.positional, config.keywords) == ([1], {"a": [2]})
    assert CodeConfig.model_validate("m.f") == CodeConfig(name="m.f")
    assert CodeConfig.model_validate({"name": "m.f", "args": {"a": 1}}).keywords == {"a": 1}
