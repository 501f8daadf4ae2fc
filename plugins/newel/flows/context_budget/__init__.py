"""The context budget: how large a request may be, and what is left out of it when it grows too large."""
