"""App files: an app in YAML. A module of its own, because an App that is made in code needs no YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mortise.agents.config_agent_utils import from_config
from mortise.agents.yaml_positions import read_document


def read_fields(path: Path) -> dict[str, Any]:
    """The fields of the App that a file describes: an agent's file, or one with `root_agent` among its keys."""
    document = read_document(path)
    if "root_agent" not in document.data:
        agent = from_config(path)
        return {"name": agent.name, "root_agent": agent}
    file = str(document.data["root_agent"])
    named = (path.parent / file).resolve()
    if not named.is_relative_to(path.parent.resolve()):
        raise document.error(("root_agent",), f"root_agent {file!r} is outside the app's folder")
    return {**document.data, "root_agent": from_config(named)}
