"""Reading of URLs by the model's service."""

from newel.tools.server_tools import UrlContextTool, url_context

__all__ = ["UrlContextTool", "url_context"]
