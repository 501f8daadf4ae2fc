"""The former name of ``newel_testkit.gemini_server``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("gemini_server")
