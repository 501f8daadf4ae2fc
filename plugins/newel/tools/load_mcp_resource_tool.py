"""The released module of LoadMcpResourceTool."""

from __future__ import annotations

from newel.mcp.resources import LoadMcpResourceTool as LoadMcpResourceTool
