"""Search of the web by the model's service."""

from newel.tools.server_tools import GoogleSearchTool, google_search

__all__ = ["GoogleSearchTool", "google_search"]
