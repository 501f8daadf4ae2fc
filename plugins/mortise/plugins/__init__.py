"""Plugins with lifecycle hooks, to be given to a Runner or an App."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.plugins.base_plugin import BasePlugin as BasePlugin
    from mortise.plugins.context_filter_plugin import ContextFilterPlugin as ContextFilterPlugin
    from mortise.plugins.debug_logging_plugin import DebugLoggingPlugin as DebugLoggingPlugin
    from mortise.plugins.global_instruction_plugin import GlobalInstructionPlugin as GlobalInstructionPlugin
    from mortise.plugins.logging_plugin import LoggingPlugin as LoggingPlugin
    from mortise.plugins.multimodal_tool_results_plugin import (
        MultimodalToolResultsPlugin as MultimodalToolResultsPlugin,
    )
    from mortise.plugins.reflect_retry_model_plugin import ReflectAndRetryModelPlugin as ReflectAndRetryModelPlugin
    from mortise.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin as ReflectAndRetryToolPlugin
    from mortise.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin as SaveFilesAsArtifactsPlugin

_WHERE = {
    "BasePlugin": "mortise.plugins.base_plugin",
    "ContextFilterPlugin": "mortise.plugins.context_filter_plugin",
    "DebugLoggingPlugin": "mortise.plugins.debug_logging_plugin",
    "GlobalInstructionPlugin": "mortise.plugins.global_instruction_plugin",
    "LoggingPlugin": "mortise.plugins.logging_plugin",
    "MultimodalToolResultsPlugin": "mortise.plugins.multimodal_tool_results_plugin",
    "ReflectAndRetryModelPlugin": "mortise.plugins.reflect_retry_model_plugin",
    "ReflectAndRetryToolPlugin": "mortise.plugins.reflect_retry_tool_plugin",
    "SaveFilesAsArtifactsPlugin": "mortise.plugins.save_files_as_artifacts_plugin",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
