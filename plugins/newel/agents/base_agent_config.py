"""BaseAgentConfig: the base class for the `config_type` of an agent class."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BaseAgentConfig(BaseModel):
    """An agent file as a model. An agent class that declares fields needs none: the fields are the file's keys.

    The class attribute `config_type` names the model; `_parse_config(config, config_abs_path, kwargs)` then makes
    the arguments of the agent.
    """

    model_config = ConfigDict(extra="allow")

    agent_class: str = "BaseAgent"
    name: str
    description: str = ""
    sub_agents: list[object] | None = None
    before_agent_callbacks: list[object] | None = None
    after_agent_callbacks: list[object] | None = None
