"""Configuration: what a live connection is opened with, from RunConfig and from the agent's own configuration."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from newel.live.background import runs_beside
from newel.live.task_completed import IN_SEQUENCE, add_to
from newel.models.live import LIVE_CONFIG
from newel_kernel import LlmRequest
from newel_types import Behavior, deep_copy

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel.live.contract import LiveSession

#: Fields of RunConfig that a connection has as well.
FROM_RUN = (
    "response_modalities",
    "speech_config",
    "output_audio_transcription",
    "input_audio_transcription",
    "realtime_input_config",
    "enable_affective_dialog",
    "proactivity",
    "session_resumption",
    "context_window_compression",
    "avatar_config",
    "history_config",
    "explicit_vad_signal",
    "translation_config",
)
#: Likewise of an agent's `generate_content_config`.
FROM_AGENT = (
    "temperature",
    "top_p",
    "top_k",
    "max_output_tokens",
    "seed",
    "media_resolution",
    "thinking_config",
    "safety_settings",
)
_log = logging.getLogger(__name__)


def configure(ctx: InvocationContext, request: LlmRequest) -> None:
    """Write the configuration of the connection into the request; the caller's RunConfig does not change."""
    config = request.stash[LIVE_CONFIG]
    for name in FROM_RUN:
        if (value := getattr(ctx.run_config, name)) is not None:
            setattr(config, name, deep_copy(value))
    if config.response_modalities is None:
        config.response_modalities = ["AUDIO"]  # type: ignore[list-item]  # it becomes a Modality
    for name in FROM_AGENT:
        if (value := getattr(request.config, name)) is not None:
            setattr(config, name, deep_copy(value))
    if getattr(ctx.agent, "output_schema", None) is not None:
        _log.warning(
            "the output_schema of the agent %r has no effect in a live session: give it a tool that takes the data",
            ctx.agent.name,
        )
    if ctx.agent.root_agent.sub_agents and config.input_audio_transcription is None:
        _log.warning(
            "transcription is off in a live session of several agents: after a transfer the next one does not know "
            "what was said"
        )


def prepare_live(session: LiveSession) -> None:
    """Add what a prepared request needs for a live connection."""
    ctx, request = session.ctx, session.request
    if IN_SEQUENCE in ctx.stash and ctx.agent.name in ctx.stash[IN_SEQUENCE]:
        add_to(request)
    _mark_non_blocking(request)


def _mark_non_blocking(request: LlmRequest) -> None:
    """Declare the tools that run concurrently with the conversation as such, in copies: declarations are shared."""
    beside = {name for name, tool in request.tools_dict.items() if runs_beside(tool)}
    if not beside or not request.config.tools:
        return
    request.config.tools = deep_copy(request.config.tools)
    for tool in request.config.tools or ():
        for declaration in getattr(tool, "function_declarations", None) or ():
            if declaration.name in beside:
                declaration.behavior = Behavior.NON_BLOCKING
