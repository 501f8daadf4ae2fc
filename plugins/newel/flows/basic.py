"""basic: the model's name, a copy of the agent's configuration, the output schema, the live settings (S0 §3.3)."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel

from newel import live
from newel.flows.llm_agents import LlmContext, request_processor
from newel.models.live import LIVE_CONFIG
from newel_kernel import Json, LlmRequest, RequestProcessor, hookimpl
from newel_types import deep_copy

_LIVE = frozenset((
    "response_modalities", "speech_config", "output_audio_transcription", "input_audio_transcription",
    "realtime_input_config", "enable_affective_dialog", "proactivity", "session_resumption",
    "context_window_compression",
))  # fmt: skip


def run(ctx: LlmContext, request: LlmRequest) -> None:
    """Start the request from what the agent and the RunConfig say."""
    agent = ctx.agent
    model = agent.model_for(ctx)
    request.model = model.model
    config = agent.generate_content_config
    if config is not None:
        request.config = config.model_copy()
        for name in config.model_fields_set:
            value = getattr(config, name)
            if isinstance(value, (list, dict, BaseModel)):  # a callback may edit it, and the agent's own must stay
                setattr(request.config, name, deep_copy(value))
    if agent.output_schema is not None and agent.mode != "task" and (
        not agent.tools or model.capabilities.output_schema_with_tools
    ):
        request.config.response_schema = cast("type | Json", agent.output_schema)
        request.config.response_mime_type = "application/json"
    request.set_default_label("adk_agent_name", agent.name)
    if ctx.live_request_queue is not None:
        live.configure(ctx, request)
    else:
        for name in ctx.run_config.model_fields_set & _LIVE:
            if (value := getattr(ctx.run_config, name)) is not None:
                setattr(request.stash[LIVE_CONFIG], name, deep_copy(value))


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `basic`."""
    return [request_processor("basic", run)]
