"""Metrics: what a process of the server has done so far, in numbers without content or users."""
