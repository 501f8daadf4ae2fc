"""`newel mcp`: MCP servers, an agent's own among them."""
