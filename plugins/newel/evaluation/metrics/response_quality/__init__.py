"""How good an answer is."""
