"""The released module of McpInstructionProvider."""

from __future__ import annotations

from newel.mcp.prompts import McpInstructionProvider as McpInstructionProvider
