"""What LLM agents do for each other."""
