"""Compliant web search by the model's service."""

from newel.tools.server_tools import EnterpriseWebSearchTool, enterprise_web_search_tool

__all__ = ["EnterpriseWebSearchTool", "enterprise_web_search_tool"]
