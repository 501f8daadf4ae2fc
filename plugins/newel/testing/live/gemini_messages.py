"""The former name of ``newel_testkit.live.gemini_messages``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("live.gemini_messages")
