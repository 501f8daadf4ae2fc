"""The state that a conversation leaves."""
