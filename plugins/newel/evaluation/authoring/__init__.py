"""Cases written by a model, or made of stored sessions."""
