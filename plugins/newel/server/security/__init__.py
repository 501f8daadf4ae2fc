"""Security: who may ask the server, from where, and with what."""
