"""Chat Completions: the protocol of OpenAI, and of the servers that adopted it."""
