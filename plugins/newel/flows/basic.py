"""basic: the model's name, a copy of the agent's configuration, the output schema, the live settings.

Specified in docs/reference/behaviour.md#model-and-configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import BaseModel

from newel import live
from newel.flows.llm_agents import LlmContext, agent_processor
from newel.models.contract import BaseLlm
from newel.models.live import LIVE_CONFIG
from newel_kernel import Chains, Json, LlmRequest, RequestProcessor, hookimpl
from newel_types import deep_copy

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.flows.llm_agents import RequestStep
    from newel_types import GenerateContentConfig

_LIVE = frozenset(
    (
        "response_modalities",
        "speech_config",
        "output_audio_transcription",
        "input_audio_transcription",
        "realtime_input_config",
        "enable_affective_dialog",
        "proactivity",
        "session_resumption",
        "context_window_compression",
    )
)


def for_agent(agent: LlmAgent) -> RequestStep:
    """The step that starts a request from the agent's settings and the RunConfig."""
    labels, config, tools = {"adk_agent_name": agent.name}, agent.generate_content_config, agent.tools
    schema = agent.output_schema if agent.mode != "task" else None
    #: The last composition, and the model in it. When an agent of the tree is edited, this step is made again.
    seen: tuple[Chains, BaseLlm] | None = None

    def start(ctx: LlmContext, request: LlmRequest) -> None:
        nonlocal seen
        if seen is None or seen[0] is not ctx.composition:
            seen = (ctx.composition, agent.__newel__.model_for(ctx))
        model = seen[1]
        request.model = model.model
        if config is not None:
            request.config = _own(config)
        if schema is not None and (not tools or model.capabilities.output_schema_with_tools):
            request.config.response_schema = cast("type | Json", schema)
            request.config.response_mime_type = "application/json"
        request.set_default_labels(labels)
        if ctx.mode is not None:
            live.configure(ctx, request)
        else:
            for setting in _LIVE.intersection(ctx.run_config.__pydantic_fields_set__):
                if (value := getattr(ctx.run_config, setting)) is not None:
                    setattr(request.stash[LIVE_CONFIG], setting, deep_copy(value))

    return start


def _own(config: GenerateContentConfig) -> GenerateContentConfig:
    """A copy: a callback may edit it, and the agent's own must stay."""
    own = config.model_copy()
    for name in config.model_fields_set:
        value = getattr(config, name)
        if isinstance(value, (list, dict, BaseModel)):
            setattr(own, name, deep_copy(value))
    return own


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `basic`."""
    return [agent_processor("basic", for_agent)]
