"""Which tools an agent called, and with what."""
