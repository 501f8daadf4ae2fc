"""Plugins with lifecycle hooks, to be given to a Runner or an App."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.plugins.base_plugin import BasePlugin as BasePlugin
    from newel.plugins.context_filter_plugin import ContextFilterPlugin as ContextFilterPlugin
    from newel.plugins.debug_logging_plugin import DebugLoggingPlugin as DebugLoggingPlugin
    from newel.plugins.global_instruction_plugin import GlobalInstructionPlugin as GlobalInstructionPlugin
    from newel.plugins.logging_plugin import LoggingPlugin as LoggingPlugin
    from newel.plugins.multimodal_tool_results_plugin import (
        MultimodalToolResultsPlugin as MultimodalToolResultsPlugin,
    )
    from newel.plugins.reflect_retry_model_plugin import ReflectAndRetryModelPlugin as ReflectAndRetryModelPlugin
    from newel.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin as ReflectAndRetryToolPlugin
    from newel.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin as SaveFilesAsArtifactsPlugin

_WHERE = {
    "BasePlugin": "newel.plugins.base_plugin",
    "ContextFilterPlugin": "newel.plugins.context_filter_plugin",
    "DebugLoggingPlugin": "newel.plugins.debug_logging_plugin",
    "GlobalInstructionPlugin": "newel.plugins.global_instruction_plugin",
    "LoggingPlugin": "newel.plugins.logging_plugin",
    "MultimodalToolResultsPlugin": "newel.plugins.multimodal_tool_results_plugin",
    "ReflectAndRetryModelPlugin": "newel.plugins.reflect_retry_model_plugin",
    "ReflectAndRetryToolPlugin": "newel.plugins.reflect_retry_tool_plugin",
    "SaveFilesAsArtifactsPlugin": "newel.plugins.save_files_as_artifacts_plugin",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
