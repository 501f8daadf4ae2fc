"""The Interactions API of Gemini, which keeps the conversation at the service."""
