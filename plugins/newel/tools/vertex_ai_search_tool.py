"""Vertex AI Search by the model's service."""

from newel.tools.server_tools import VertexAiSearchTool

__all__ = ["VertexAiSearchTool"]
