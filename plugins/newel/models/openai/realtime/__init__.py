"""OpenAI Realtime: bidirectional connections to OpenAI's models."""
