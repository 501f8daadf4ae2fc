"""Agent files name the toolset, with a document next to them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from newel.agents.config_agent_utils import from_config
from newel.openapi import OpenAPIToolset
from newel_kernel import AgentConfigError
from newel_testkit import RestServer

AGENT = """\
name: desk
model: "demo:"
instruction: Help.
tools:
  - name: OpenAPIToolset
    args:
      {args}
"""


def written(folder: Path, args: dict[str, Any]) -> str:
    file = folder / "root_agent.yaml"
    file.write_text(AGENT.replace("{args}", json.dumps(args)[1:-1].replace(', "', '\n      "')), "utf-8")
    return str(file)


def test_a_file_names_a_document_and_its_options(tmp_path: Path, rest: RestServer) -> None:
    (tmp_path / "shop.json").write_text(json.dumps(rest.document), "utf-8")
    args = {
        "spec_file": "shop.json",
        "tool_filter": ["get_pet"],
        "tool_name_prefix": "shop",
        "server": "https://a.example",
    }
    agent: Any = from_config(written(tmp_path, args))
    (toolset,) = agent.tools
    assert isinstance(toolset, OpenAPIToolset)
    assert [tool.name for tool in asyncio.run(toolset.get_tools_with_prefix())] == ["shop_get_pet"]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"spec_file": "../shop.json"}, "leaves the app's folder"),
        ({"spec_file": "/etc/hostname"}, "leaves the app's folder"),
        ({"spec_file": "shop.json"}, "there is no such file"),
        ({"tool_name_prefix": "x"}, "needs either `spec_file`"),
        ({"spec_file": "bad.yaml"}, r"bad\.yaml: the document is not valid YAML: line \d"),
        ({"allow_private_network_access": True}, "unexpected keyword argument"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, args: dict[str, Any], text: str) -> None:
    (tmp_path / "bad.yaml").write_text("openapi: [", "utf-8")
    with pytest.raises(AgentConfigError, match=text):
        from_config(written(tmp_path, args))
