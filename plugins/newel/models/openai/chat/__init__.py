"""Chat Completions: the protocol of OpenAI, and of the servers that took it over."""
