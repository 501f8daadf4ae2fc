"""Ways to drive a run: until a signal, from a thread, for one answer, on a screen."""
