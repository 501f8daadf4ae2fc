"""The former name of ``newel_testkit.live.openai_messages``, which is in the package newel-testkit."""

from newel.testing.simulators import moved

__getattr__ = moved("live.openai_messages")
